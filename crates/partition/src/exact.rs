//! Lists that take no more memory than they need.

/// Gives up memory that a list does not use, as `Vec::shrink_to_fit` does, by moving it: cut off in
/// place, what is left over is a hole in the heap that the next list, which grows as this one did,
/// does not fit in. With a hundred thousand lists that would be more than the lists.
pub fn make_exact<T>(list: &mut Vec<T>) {
    if list.len() < list.capacity() {
        let mut exact = Vec::with_capacity(list.len());
        exact.append(list);
        *list = exact;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_list_stays() {
        for len in [0, 1, 3] {
            let mut list = Vec::with_capacity(4);
            list.extend(0..len);
            make_exact(&mut list);
            assert_eq!((list.capacity(), list), (len, (0..len).collect()));
        }
    }
}
