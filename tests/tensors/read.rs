//! Reading block-sparse arrays: every format, every message, and inputs that must only fail.

use proptest::prelude::*;
use warplock::tensors::BlockSparse;
use warplock::tensors::ExtentSource;
use warplock::tensors::Format;
use warplock::tensors::ReadOptions;
use warplock::tensors::TensorError;
use warplock::tensors::TensorErrorKind;
use warplock::tensors::read_bytes;
use warplock::tensors::synthetic::Random;
use warplock::tensors::synthetic::random;
use warplock::tensors::write::to_json;
use warplock::tensors::write::to_npz;
use warplock::tensors::write::to_safetensors;

fn json(text: &str) -> Result<BlockSparse, TensorError> {
    read_bytes(text.as_bytes(), Format::Json, &ReadOptions::default())
}

#[track_caller]
fn messages(text: &str, expected: &[&str]) {
    let error = json(text).unwrap_err();
    let found: Vec<String> = error.problems().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

#[test]
fn offsets_and_full_lists_may_be_left_out() {
    let tiles = json(r#"{"mask_block_cnt": [2, 0, 1], "mask_block_idx": [3, 1, 0]}"#).unwrap();
    assert_eq!((tiles.n_blocks(), tiles.m_blocks()), (3, 4));
    assert_eq!(tiles.m_source(), ExtentSource::LargestIndex);
    assert_eq!(tiles.row(0), [3, 1]);
    let only_full = json(r#"{"full_block_cnt": [1], "full_block_idx": [0], "m_blocks": 9}"#);
    let only_full = only_full.unwrap();
    assert_eq!(
        (only_full.m_blocks(), only_full.m_source()),
        (9, ExtentSource::File)
    );
    assert_eq!(only_full.full_row(0), [0]);
}

#[test]
fn m_comes_from_the_file_the_option_or_the_largest_index() {
    let text = r#"{"mask_block_cnt": [1], "mask_block_idx": [0]}"#;
    let options = ReadOptions {
        m_blocks: Some(5),
        ..ReadOptions::default()
    };
    let tiles = read_bytes(text.as_bytes(), Format::Json, &options).unwrap();
    assert_eq!(
        (tiles.m_blocks(), tiles.m_source()),
        (5, ExtentSource::Caller)
    );
    let text = r#"{"mask_block_cnt": [1], "mask_block_idx": [0], "num_m_blocks": 4}"#;
    let error = read_bytes(text.as_bytes(), Format::Json, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "num_m_blocks says 4 m tiles but the option says 5"
    );
}

#[test]
fn padded_rows_ignore_what_follows_their_count() {
    let tiles = json(
        r#"{"mask_block_cnt": [1, 2], "mask_block_idx": [[2, 77, -5], [0, 1, 9]], "m_blocks": 3}"#,
    );
    let tiles = tiles.unwrap();
    assert_eq!((tiles.row(0), tiles.row(1)), (&[2][..], &[0, 1][..]));
}

#[test]
fn a_batch_and_a_head_are_chosen() {
    let text = r#"{"q_num_blocks": [[[1], [2]]], "q_indices": [[[[0, 1]], [[1, 0]]]]}"#;
    messages(
        text,
        &["q_num_blocks holds 1 batches and 2 heads; choose one batch and one head"],
    );
    let choose = |head| ReadOptions {
        head: Some(head),
        ..ReadOptions::default()
    };
    let tiles = read_bytes(text.as_bytes(), Format::Json, &choose(1)).unwrap();
    assert_eq!(tiles.row(0), [1, 0]);
    let error = read_bytes(text.as_bytes(), Format::Json, &choose(2)).unwrap_err();
    assert_eq!(error.kind(), TensorErrorKind::Selection);
    assert_eq!(
        error.to_string(),
        "head 2 is chosen, and q_num_blocks has 2 (0 to 1)"
    );
}

#[test]
fn matrices_are_rows_of_n() {
    for (text, format) in [
        ("[[0, 1, 1], [1, 0, 0]]", Format::Json),
        (
            r#"{"matrix": [[false, true, true], [true, false, false]]}"#,
            Format::Json,
        ),
        ("0 1 1 # n = 0\n\n1,0,0\n", Format::Text),
    ] {
        let tiles = read_bytes(text.as_bytes(), format, &ReadOptions::default()).unwrap();
        assert_eq!((tiles.n_blocks(), tiles.m_blocks()), (2, 3));
        assert_eq!((tiles.row(0), tiles.row(1)), (&[1, 2][..], &[0][..]));
        assert_eq!(tiles.m_source(), ExtentSource::Matrix);
    }
    messages(
        "[[0, 2]]",
        &["matrix element [0, 1] is 2; only 0 and 1 are allowed"],
    );
    messages(
        "[0, 1]",
        &["matrix has shape [2]; a matrix [N, M] or [batch, head, N, M] is expected"],
    );
    messages(
        r#"{"matrix": [[1]], "m_blocks": 2, "n_blocks": 3}"#,
        &["n_blocks says 3 n tiles but the number of rows says 1"],
    );
}

#[test]
fn forward_arrays_are_compared() {
    let backward = r#""mask_block_cnt": [1, 2], "mask_block_idx": [0, 0, 1]"#;
    let forward = |rest: &str| format!("{{{backward}, {rest}}}");
    let same = r#""forward": {"mask_block_cnt": [2, 1], "mask_block_idx": [0, 1, 1]}"#;
    assert_eq!(
        json(&forward(same)).unwrap().m_source(),
        ExtentSource::Forward
    );
    let fewer = r#""fwd_mask_block_cnt": [1, 1], "fwd_mask_block_idx": [1, 1]"#;
    messages(
        &forward(fewer),
        &[
            "tile (n = 0, m = 0) is a mask entry in the arrays per n but not visited in the forward \
           arrays (1 tiles differ)",
        ],
    );
    let kinds = r#""fwd_mask_block_cnt": [1, 1], "fwd_mask_block_idx": [1, 1],
        "fwd_full_block_cnt": [1, 0], "fwd_full_block_idx": [0]"#;
    messages(
        &forward(kinds),
        &[
            "tile (n = 0, m = 0) is a mask entry in the arrays per n but a full entry in the \
           forward arrays (1 tiles differ)",
        ],
    );
    messages(
        r#"{"forward": {"mask_block_cnt": [1], "mask_block_idx": [[0]]}}"#,
        &[
            "only forward arrays (per m) are given; the visiting order of the CTAs needs the \
           arrays per n (mask_block_cnt, mask_block_idx, ...)",
        ],
    );
}

#[test]
fn a_block_mask_without_its_arrays_per_n_is_transposed_as_pytorch_does() {
    let kv = |counts: &str, indices: &str, more: &str| {
        json(&format!(
            r#"{{"kv_num_blocks": {counts}, "kv_indices": {indices}{more}}}"#
        ))
    };
    let full = r#", "full_kv_num_blocks": [0, 1], "full_kv_indices": [[0, 0, 0], [2, 0, 0]]"#;
    let both = full.replace("[2, 0, 0]]", "[1, 0, 2]]");
    let error = kv("[2, 1]", "[[1, 0, 0], [1, 0, 2]]", &both).unwrap_err();
    assert!(error.to_string().contains("is in both lists"), "{error}");
    let tiles = kv("[2, 1]", "[[1, 0, 0], [1, 0, 2]]", full).unwrap();
    assert_eq!((tiles.n_blocks(), tiles.m_blocks()), (3, 2));
    assert_eq!(tiles.m_source(), ExtentSource::Forward);
    assert_eq!((tiles.mask_row(0), tiles.full_row(0)), (&[0][..], &[][..]));
    assert_eq!(tiles.mask_row(1), [0, 1]);
    assert_eq!((tiles.mask_row(2), tiles.full_row(2)), (&[][..], &[1][..]));
    // Indices past the last column, and another number of columns.
    assert!(kv("[1]", "[[3, 0, 0]]", "").is_err());
    assert!(kv("[1]", "[[2, 0, 0]]", r#", "n_blocks": 4"#).is_err());
    assert!(kv("[1]", "[[2, 0, 0]]", r#", "m_blocks": 2"#).is_err());
}

#[test]
fn every_rule_has_its_own_message() {
    messages(
        r#"{"mask_block_cnt": [2, 1, -1], "mask_block_offset": [1, 2, 4, 3],
            "mask_block_idx": [0, 9, -3, 0], "m_blocks": 4}"#,
        &[
            "mask_block_cnt[2] is -1; a count must not be negative",
            "mask_block_idx has 4 entries but mask_block_cnt sums to 3",
            "mask_block_offset[0] is 1; offsets must start at 0",
            "mask_block_offset[2] is 4 but mask_block_cnt sums to 3",
            "mask_block_offset[3] is 3, below 4 before it; offsets must not decrease",
            "mask_block_idx[1] (n = 0) is 9; m must be in 0..4",
            "mask_block_idx[2] (n = 1) is -3; an index must not be negative",
        ],
    );
    messages(
        r#"{"mask_block_cnt": [3], "mask_block_idx": [1, 0, 1],
            "full_block_cnt": [1], "full_block_idx": [0]}"#,
        &[
            "mask_block_idx[2] (n = 0) is 1 again; it is already at mask_block_idx[0]",
            "tile (n = 0, m = 0) is in both lists: at mask_block_idx[1] and at full_block_idx[0]",
        ],
    );
    messages(
        r#"{"mask_block_cnt": [1, 0], "mask_block_offset": [0, 1], "mask_block_idx": [0],
            "full_block_cnt": [0], "full_block_idx": []}"#,
        &["mask_block_offset has shape [2]; mask_block_cnt has 2 rows, so 3 offsets are expected"],
    );
    messages(
        r#"{"mask_block_cnt": [1, 0], "mask_block_idx": [0],
            "full_block_cnt": [0], "full_block_idx": []}"#,
        &["mask_block_cnt says 2 n tiles but full_block_cnt says 1"],
    );
    messages(
        r#"{"mask_block_cnt": [3], "mask_block_idx": [[0, 1]]}"#,
        &["mask_block_cnt[0] is 3, but a row of mask_block_idx has 2 entries"],
    );
    messages(
        r#"{"mask_block_cnt": [1], "mask_block_idx": [0], "m_blocks": -1, "n_blocks": [1, 2]}"#,
        &[
            "n_blocks has shape [2]; a single number is expected",
            "m_blocks is -1; a number of tiles must not be negative",
        ],
    );
    messages(
        r#"{"mask_block_cnt": [1], "mask_block_idx": [4000000000]}"#,
        &["the number of m tiles is 4000000001, above the limit of 16777216"],
    );
}

#[test]
fn names_are_watched() {
    messages(
        r#"{"mask_block_cnt": [1], "mask_block_index": [0], "origin": "a remark"}"#,
        &[
            "mask_block_index is not a known name; did you mean mask_block_idx?",
            "mask_block_idx is missing, and mask_block_cnt is given",
        ],
    );
    messages(
        r#"{"mask_block_cnt": [0], "mask_block_cnt": [1], "mask_block_idx": []}"#,
        &["mask_block_cnt is given twice"],
    );
    messages(
        r#"{"mask_block_cnt": [0], "q_num_blocks": [0], "mask_block_idx": []}"#,
        &["mask_block_cnt and q_num_blocks are both given and mean the same array"],
    );
    messages(
        "{}",
        &[
            "no block-sparse arrays: neither mask_block_cnt with mask_block_idx, nor \
           full_block_cnt with full_block_idx, nor a matrix",
        ],
    );
}

#[test]
fn malformed_json_says_where() {
    messages(
        r#"{"mask_block_cnt": [0, 1.5]}"#,
        &[
            "not valid JSON: element 1 of mask_block_cnt is 1.5; integers are expected at line 1 \
           column 26",
        ],
    );
    messages(
        r#"{"mask_block_cnt": [18446744073709551615]}"#,
        &[
            "not valid JSON: element 0 of mask_block_cnt is 18446744073709551615, which does not \
           fit a signed 64-bit integer at line 1 column 40",
        ],
    );
    messages(
        r#"{"mask_block_cnt": [1, [2]]}"#,
        &[
            "not valid JSON: mask_block_cnt mixes numbers and lists, or lists of different lengths \
           at line 1 column 24",
        ],
    );
    messages(
        r#"{"mask_block_cnt": [1"#,
        &["not valid JSON: EOF while parsing a list at line 1 column 21"],
    );
    assert!(json(&"[".repeat(100_000)).is_err());
}

#[test]
fn limits_are_checked_while_reading() {
    let options = ReadOptions {
        max_elements: 10,
        ..ReadOptions::default()
    };
    let matrix = b"[[0,0,0,0],[0,0,0,0],[0,0,0,0]]";
    let error = read_bytes(matrix, Format::Json, &options).unwrap_err();
    assert_eq!(error.kind(), TensorErrorKind::Limit);
    assert_eq!(
        error.to_string(),
        "the element count up to matrix is at least 11, above the limit of 10"
    );
}

#[test]
fn an_archive_is_not_unpacked_past_the_limit() {
    let tiles = BlockSparse::from_rows(1, vec![(vec![0], vec![]); 50_000]).unwrap();
    let bytes = to_npz(&tiles).unwrap();
    assert!(bytes.len() < 200_000, "{}", bytes.len());
    let options = ReadOptions {
        max_elements: 1000,
        ..ReadOptions::default()
    };
    let error = read_bytes(&bytes, Format::Npz, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the element count up to full_block_cnt (shape [50000]) is 50000, above the limit of 1000"
    );
}

fn tensors(header: &str, data: &[u8]) -> Result<BlockSparse, String> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    let read = read_bytes(&bytes, Format::Safetensors, &ReadOptions::default());
    read.map_err(|error| error.to_string())
}

#[test]
fn safetensors_headers_are_not_trusted() {
    let entry = |shape: &str, start: u64, end: u64| {
        format!(r#"{{"x": {{"dtype": "U8", "shape": {shape}, "data_offsets": [{start}, {end}]}}}}"#)
    };
    assert_eq!(
        tensors(&entry("[2, 2]", 0, 4), &[0, 1, 1, 0])
            .unwrap()
            .len(),
        2
    );
    let cases = [
        (entry("[2, 2]", 0, 5), "x is at 0..5 of 4 bytes of data"),
        (entry("[2, 2]", 3, 1), "x is at 3..1 of 4 bytes of data"),
        (
            entry("[2, 2]", u64::MAX - 3, u64::MAX),
            "x is at 18446744073709551612..18446744073709551615 of 4 bytes of data",
        ),
        (
            entry("[2, 1]", 0, 4),
            "x of shape [2, 1] needs 2 bytes, there are 4",
        ),
        (
            r#"{"x": 1, "x": 2}"#.to_owned(),
            "invalid type: integer `1`, expected struct Tensor at line 1 column 7",
        ),
    ];
    for (header, message) in cases {
        let expected = format!("not valid safetensors: {message}");
        assert_eq!(tensors(&header, &[0; 4]).unwrap_err(), expected);
    }
    assert!(tensors(&entry("[4294967296, 4294967296]", 0, 4), &[0; 4]).is_err());
    let floats = entry("[2, 2]", 0, 4).replace("U8", "BF16");
    assert_eq!(
        tensors(&floats, &[0; 4]).unwrap_err(),
        "x has dtype BF16; integers are expected (int32)"
    );
}

/// A zip archive names every entry twice: before its data and in the index at the end.
fn renamed(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let found = |at: &usize| bytes[*at..].starts_with(from.as_bytes());
    let places: Vec<usize> = (0..bytes.len()).filter(found).collect();
    assert_eq!(places.len(), 2);
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

#[test]
fn two_entries_of_an_archive_with_one_name_are_refused() {
    let tiles = BlockSparse::from_rows(3, [(vec![1, 0], vec![2]), (vec![], vec![1])]).unwrap();
    let npz = to_npz(&tiles).unwrap();
    let npz = renamed(&npz, "full_block_cnt.npy", "mask_block_cnt.npy");
    let [_, (_, pt)] = of_pytorch();
    let pt = renamed(&pt, "/data/1", "/data/0");
    for (format, bytes, name) in [(Format::Npz, npz, "npz"), (Format::Pt, pt, "PyTorch file")] {
        let error = read_bytes(&bytes, format, &ReadOptions::default()).unwrap_err();
        let expected = format!("not valid {name}: two entries have the same name");
        assert_eq!(error.to_string(), expected);
    }
}

/// `torch.save` leaves an archive behind where it cannot pickle the function of a mask.
#[test]
fn what_pytorch_could_not_save_says_so() {
    let bytes = include_bytes!("../data/tensors/torch_unfinished.pt");
    assert_eq!(Format::guess(None, bytes), Some(Format::Pt));
    let error = read_bytes(bytes, Format::Pt, &ReadOptions::default()).unwrap_err();
    let expected = "not valid PyTorch file: it has no pickle, so torch.save failed, as it does for a mask whose function \
                    is a lambda; save the tensors of the mask instead";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn every_writer_reads_back() {
    let kind = Random {
        n_blocks: 30,
        m_blocks: 20,
        density: 0.2,
        full_share: 0.4,
        shuffled: true,
    };
    for seed in 0..20 {
        let tiles = random(&kind, seed).unwrap();
        for (format, bytes) in written(&tiles) {
            assert_eq!(Format::guess(None, &bytes), Some(format));
            let read = read_bytes(&bytes, format, &ReadOptions::default()).unwrap();
            assert_eq!((read.m_blocks(), read.m_source()), (20, ExtentSource::File));
            assert!(read.entries().eq(tiles.entries()));
        }
    }
}

/// What PyTorch wrote: a `BlockMask`, and a dictionary in a later form of pickles.
fn of_pytorch() -> [(Format, Vec<u8>); 2] {
    [
        include_bytes!("../data/tensors/torch_block_mask.pt").to_vec(),
        include_bytes!("../data/tensors/torch_proto4.pt").to_vec(),
    ]
    .map(|bytes| (Format::Pt, bytes))
}

fn written(tiles: &BlockSparse) -> [(Format, Vec<u8>); 3] {
    [
        (
            Format::Json,
            to_json(tiles, Some("a \"remark\"")).into_bytes(),
        ),
        (Format::Npz, to_npz(tiles).unwrap()),
        (Format::Safetensors, to_safetensors(tiles).unwrap()),
    ]
}

const FORMATS: [Format; 6] = [
    Format::Json,
    Format::Npy,
    Format::Npz,
    Format::Safetensors,
    Format::Pt,
    Format::Text,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_files_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
        which in 0usize..5,
    ) {
        let tiles = BlockSparse::from_rows(3, [(vec![1, 0], vec![2]), (vec![], vec![1])]).unwrap();
        let mut files = written(&tiles).into_iter().chain(of_pytorch());
        let (format, mut bytes) = files.nth(which).unwrap();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = read_bytes(&bytes, format, &ReadOptions::default());
        for other in FORMATS {
            let _ = read_bytes(&bytes, other, &ReadOptions::default());
        }
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for format in FORMATS {
            let _ = read_bytes(&bytes, format, &ReadOptions::default());
        }
    }

    #[test]
    fn any_lists_are_valid_or_refused(
        counts in prop::collection::vec(-1i64..4, 0..5),
        indices in prop::collection::vec(-1i64..6, 0..8),
        m_blocks in prop::option::of(0i64..6),
    ) {
        let mut text = format!(r#"{{"mask_block_cnt": {counts:?}, "mask_block_idx": {indices:?}"#);
        if let Some(m_blocks) = m_blocks {
            text += &format!(r#", "m_blocks": {m_blocks}"#);
        }
        text += "}";
        if let Ok(tiles) = json(&text) {
            prop_assert_eq!(tiles.len(), indices.len());
            let flat: Vec<i64> = tiles.entries().map(|entry| i64::from(entry.m)).collect();
            prop_assert_eq!(flat, indices);
            for entry in tiles.entries() {
                prop_assert!((entry.m as usize) < tiles.m_blocks());
                prop_assert!(tiles.visits(entry.n as usize, entry.m as usize));
            }
        }
    }
}
