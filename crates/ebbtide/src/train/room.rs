//! Room asked for once, so that no step of a training has to ask again.

/// Makes room for `length` values in all. Untouched room costs no memory, only addresses; where the machine does not
/// give it, the values grow as they come.
pub(super) fn make_room<Value>(values: &mut Vec<Value>, length: usize) {
    let missing = length.saturating_sub(values.len());
    let _ = values.try_reserve_exact(missing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_once_and_what_is_too_much_is_let_go() {
        let mut values = vec![1_u64, 2];
        make_room(&mut values, 100);
        let place = values.as_ptr();
        make_room(&mut values, 50);
        values.extend(3..=100);
        assert_eq!((values.as_ptr(), values.len()), (place, 100));
        make_room(&mut values, usize::MAX);
        assert_eq!((values.as_ptr(), values[99]), (place, 100));
    }
}
