//! What is written: exact JSON, repeatable bytes, and the script that shows a hang.

use warplock::tensors::BlockSparse;
use warplock::tensors::torch::LockScheme;
use warplock::tensors::torch::to_torch_script;
use warplock::tensors::write::to_json;
use warplock::tensors::write::to_npz;
use warplock::tensors::write::to_safetensors;

fn tiles() -> BlockSparse {
    BlockSparse::from_rows(2, [(vec![1], vec![0]), (vec![], vec![1])]).unwrap()
}

#[test]
fn json_has_one_line_per_array() {
    insta::assert_snapshot!(to_json(&tiles(), Some("two \"tiles\"")), @r#"
    {
      "origin": "two \"tiles\"",
      "m_blocks": 2,
      "mask_block_cnt": [1, 0],
      "mask_block_offset": [0, 1, 1],
      "mask_block_idx": [1],
      "full_block_cnt": [1, 1],
      "full_block_offset": [0, 1, 2],
      "full_block_idx": [0, 1]
    }
    "#);
}

#[test]
fn binary_files_depend_on_the_pattern_alone() {
    assert_eq!(
        to_safetensors(&tiles()).unwrap(),
        to_safetensors(&tiles()).unwrap()
    );
    let npz = to_npz(&tiles()).unwrap();
    assert_eq!(npz, to_npz(&tiles()).unwrap());
    // The date field of the first entry: 1980-01-01, not today.
    assert_eq!(npz[10..14], [0, 0, 0x21, 0]);
}

#[test]
fn the_script_has_arrays_locks_and_launch() {
    let scheme = LockScheme {
        resident: 1,
        ..LockScheme::rank(&tiles())
    };
    let script = to_torch_script(&tiles(), &scheme, &["two tiles", "rank lock"]);
    let data = script.split("\n\n\n").next().unwrap();
    insta::assert_snapshot!(data, @r#"
    # two tiles
    # rank lock
    import sys

    M_BLOCKS = 2
    ARRAYS = {
        "mask_block_cnt": [1, 0],
        "mask_block_offset": [0, 1, 1],
        "mask_block_idx": [1],
        "full_block_cnt": [1, 1],
        "full_block_offset": [0, 1, 2],
        "full_block_idx": [0, 1],
    }

    # For each CTA n, the row tiles it visits in order and the value each waits for.
    VISITS = [
        [(1, 0), (0, 0)],
        [(1, 1)],
    ]
    LAUNCH = [0, 1]
    RESIDENT = 1
    "#);
}

#[test]
fn the_index_lock_is_the_cta() {
    assert_eq!(LockScheme::index(&tiles()).locks, [0, 0, 1]);
    assert_eq!(LockScheme::rank(&tiles()).locks, [0, 0, 1]);
}
