//! How the memory of all queues is shared when there is too little of it.

/// The longest that the queues of a topic may be, in bytes, so that all topics together have at most `limit`. `None` if they
/// have less anyway.
///
/// The subscribers of a topic share its events, so a topic has what its longest queue has. Short queues stay as they are:
/// all topics that must give way get the same.
pub(crate) fn queue_len_max(mut topics: Vec<u64>, limit: u64) -> Option<u64> {
    let total: u64 = topics.iter().sum();
    if total <= limit {
        return None;
    }
    topics.sort_unstable();
    let (mut left, mut count) = (limit, topics.len() as u64);
    for len in topics {
        let share = left / count;
        if len > share {
            return Some(share);
        }
        left -= len;
        count -= 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_cut_while_all_fits() {
        assert_eq!(queue_len_max(vec![], 0), None);
        assert_eq!(queue_len_max(vec![3, 4], 7), None);
    }

    #[test]
    fn long_queues_share_what_short_ones_leave() {
        assert_eq!(queue_len_max(vec![100, 1, 50, 2], 23), Some(10));
        assert_eq!(queue_len_max(vec![100], 23), Some(23));
        assert_eq!(queue_len_max(vec![5, 5, 5], 14), Some(4));
    }

    #[test]
    fn what_is_left_is_within_the_limit() {
        for limit in 0..200 {
            let topics: Vec<u64> = vec![0, 1, 7, 7, 40, 90];
            let cut = queue_len_max(topics.clone(), limit).unwrap_or(u64::MAX);
            let left: u64 = topics.iter().map(|len| len.min(&cut)).sum();
            assert!(left <= limit, "{limit}: {cut}");
        }
    }
}
