//! Lists that take no more memory than they need.

/// Gives up memory that a list does not use, by moving the list. `Vec::shrink_to_fit` would cut it
/// off in place and leave a hole in the heap, into which the next list that grows in the same way
/// does not fit. With a hundred thousand lists the holes would take more than the lists.
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
