//! Files of others: the shipped data is the packing it says it is, and what NumPy, PyTorch and
//! the safetensors library wrote (`tests/data/tensors`, the same pattern in other layouts) is read.

use std::path::Path;
use std::path::PathBuf;

use warplock::tensors::BlockSparse;
use warplock::tensors::ExtentSource;
use warplock::tensors::ReadOptions;
use warplock::tensors::TensorErrorKind;
use warplock::tensors::packing::Tiling;
use warplock::tensors::packing::pack;
use warplock::tensors::packing::parse_lengths;
use warplock::tensors::read;

fn shipped(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("encodings/block_sparse/data").join(name)
}

fn foreign(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("tests/data/tensors").join(name)
}

fn published() -> BlockSparse {
    let text = std::fs::read_to_string(shipped("published_varlen_lengths.txt")).unwrap();
    let tiling = Tiling {
        tile_m: 128,
        tile_n: 128,
        causal: false,
    };
    pack(&parse_lengths(&text).unwrap(), tiling).unwrap()
}

#[test]
fn the_published_arrays_are_the_packing_of_their_lengths() {
    for extension in ["json", "npz", "safetensors"] {
        let path = shipped(&format!("published_varlen.{extension}"));
        let tiles = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!((tiles.n_blocks(), tiles.m_blocks()), (8, 8));
        assert_eq!(tiles.m_source(), ExtentSource::File);
        assert!(tiles.entries().eq(published().entries()), "{extension}");
    }
}

#[test]
fn other_layouts_and_types_read_the_same() {
    for name in [
        "numpy_padded_int64.npz",
        "numpy_int16_big_endian.npz",
        "safetensors_mixed.safetensors",
    ] {
        let tiles = read(&foreign(name), &ReadOptions::default()).unwrap();
        assert_eq!(tiles.m_blocks(), 8, "{name}");
        assert!(tiles.entries().eq(published().entries()), "{name}");
    }
}

#[test]
fn what_pytorch_saved_reads_the_same() {
    for name in ["torch_block_mask.pt", "torch_dict.pt", "torch_kv_only.pt"] {
        let tiles = read(&foreign(name), &ReadOptions::default()).unwrap();
        assert_eq!(tiles.m_source(), ExtentSource::Forward, "{name}");
        assert!(tiles.entries().eq(published().entries()), "{name}");
    }
}

#[test]
fn views_of_a_storage_are_followed() {
    // Two batches and three heads that share one storage, its last two dimensions exchanged.
    let choose = |batch, head| ReadOptions {
        batch: Some(batch),
        head: Some(head),
        m_blocks: Some(8),
        ..ReadOptions::default()
    };
    for options in [choose(0, 0), choose(1, 2)] {
        let tiles = read(&foreign("torch_views.pt"), &options).unwrap();
        for n in 0..8 {
            assert_eq!(tiles.row(n), published().mask_row(n), "n = {n}");
        }
    }
    assert!(read(&foreign("torch_views.pt"), &choose(2, 0)).is_err());
}

#[test]
fn other_files_of_pytorch_are_refused() {
    for (name, why) in [
        (
            "torch_float.pt",
            "q_num_blocks has dtype float; integers are expected (int32)",
        ),
        (
            "torch_legacy.pt",
            "not valid PyTorch file: it is no archive of PyTorch 1.6 or later",
        ),
    ] {
        let error = read(&foreign(name), &ReadOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), why);
    }
}

#[test]
fn matrices_hold_the_same_tiles() {
    for name in ["numpy_bool_fortran.npy", "numpy_matrix.npz"] {
        let tiles = read(&foreign(name), &ReadOptions::default()).unwrap();
        assert_eq!(tiles.m_source(), ExtentSource::Matrix);
        for m in 0..8 {
            assert_eq!(
                tiles.visitors(m),
                published().visitors(m),
                "{name}, m = {m}"
            );
        }
    }
}

#[test]
fn floats_are_refused_by_name() {
    let error = read(&foreign("numpy_float.npz"), &ReadOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "mask_block_cnt has dtype float32; integers are expected (int32)"
    );
}

#[test]
fn a_missing_file_is_named() {
    let error = read(&foreign("none.json"), &ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind(), TensorErrorKind::Read);
    assert!(error.to_string().contains("none.json cannot be read: "));
}

#[test]
fn a_file_above_the_limit_is_not_read() {
    let options = ReadOptions {
        max_bytes: 100,
        ..ReadOptions::default()
    };
    let error = read(&shipped("published_varlen.npz"), &options).unwrap_err();
    assert_eq!(error.kind(), TensorErrorKind::Limit);
}
