//! DDS programs: this end is a participant of their domain.
