//! `comply_test_controller`.
