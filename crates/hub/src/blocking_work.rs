//! Work that may wait for the disk, on the threads of the runtime that may block. Each kind of work has a part of them.
//!
//! A runtime has 512 such threads, which everything in the process shares. On a slow disk, one client can ask for more
//! than that: for reads of a log far behind, or for topics. If work exceeds the part of its kind, it waits, and other
//! kinds go on. The remaining threads are for checks of passwords and for metrics.

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::{JoinError, spawn_blocking};

/// The purpose of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkKind {
    /// Changes of topics and subscriptions. They wait for one another anyway.
    Change,
    /// Reads of logs, and what subscribers do with their positions.
    Read,
    /// Events that are written.
    Commit,
    /// The work that is due once a second for each durable topic.
    Maintenance,
}

/// The threads that the work of each kind may take.
#[derive(Debug)]
struct Parts([Semaphore; 4]);

static PARTS: Parts = Parts::new();

impl Parts {
    const fn new() -> Self {
        // In the order of the kinds.
        Self([
            Semaphore::const_new(8),
            Semaphore::const_new(128),
            Semaphore::const_new(256),
            Semaphore::const_new(16),
        ])
    }

    fn of(&self, kind: WorkKind) -> &Semaphore {
        &self.0[kind as usize]
    }
}

/// Runs work where a thread may block, and waits for it.
///
/// # Errors
/// The work has panicked, or the runtime is shutting down.
pub(crate) async fn run<T: Send + 'static>(
    kind: WorkKind,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    begin(permit(kind).await, work).await
}

/// The bytes of events that reads of logs take from the disk at a time, all together: a read copies and checks them, which keeps a
/// processor busy. With as many reads as threads, others would wait for all of these.
pub(crate) const READ_BYTES_TOGETHER: u32 = 1 << 20;

static READ_BYTES: Semaphore = Semaphore::const_new(READ_BYTES_TOGETHER as usize);

/// Reads events of a log, about this many bytes, where a thread may block. It begins when there is room beside the reads that are
/// under way. Reads begin in the order of their calls, so none waits for long behind others; one that is too long for any room
/// is alone.
///
/// # Errors
/// The work has panicked, or the runtime is shutting down.
pub(crate) async fn run_read<T: Send + 'static>(
    bytes: u64,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let share = u32::try_from(bytes).map_or(READ_BYTES_TOGETHER, |it| it.min(READ_BYTES_TOGETHER));
    let room = READ_BYTES.acquire_many(share).await;
    let room = room.expect("the semaphore is never closed");
    run(WorkKind::Read, move || {
        // It stays with the work, which goes on if its result is not awaited any more.
        let _room = room;
        work()
    })
    .await
}

/// Begins work where a thread may block.
pub(crate) fn start(runtime: &Handle, kind: WorkKind, work: impl FnOnce() + Send + 'static) {
    let _entered = runtime.enter();
    match PARTS.of(kind).try_acquire() {
        Ok(permit) => drop(begin(permit, work)),
        Err(_) => drop(runtime.spawn(async move { begin(permit(kind).await, work).await })),
    }
}

/// Returns true if the work of a kind uses all of its threads, so that further work of this kind waits.
pub(crate) fn is_full(kind: WorkKind) -> bool {
    PARTS.of(kind).available_permits() == 0
}

async fn permit(kind: WorkKind) -> SemaphorePermit<'static> {
    let permit = PARTS.of(kind).acquire().await;
    permit.expect("the semaphore is never closed")
}

/// The permit stays with the work, which goes on if its result is not awaited any more.
fn begin<T: Send + 'static>(
    permit: SemaphorePermit<'static>,
    work: impl FnOnce() -> T + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    spawn_blocking(move || {
        let _permit = permit;
        work()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Condvar, Mutex};
    use std::time::Duration;

    use super::*;

    /// More than a runtime has threads that may block.
    const MANY: usize = 600;

    /// A disk that answers when it is told to.
    #[derive(Default)]
    struct Disk {
        answers: Mutex<bool>,
        changed: Condvar,
    }

    impl Disk {
        fn wait(&self) {
            let answers = self.answers.lock().unwrap();
            drop(self.changed.wait_while(answers, |answers| !*answers));
        }

        fn answer(&self) {
            *self.answers.lock().unwrap() = true;
            self.changed.notify_all();
        }
    }

    /// Reads that note how many bytes are under way.
    #[tokio::test]
    async fn reads_take_no_more_bytes_together_than_the_limit_and_each_has_its_turn() {
        const MIB: u64 = 1 << 20;
        let under_way = Arc::new(Mutex::new((0, 0)));
        let read = |bytes: u64| {
            let under_way = under_way.clone();
            run_read(bytes, move || {
                {
                    let (now, most) = &mut *under_way.lock().unwrap();
                    *now += bytes;
                    *most = (*now).max(*most);
                }
                std::thread::yield_now();
                under_way.lock().unwrap().0 -= bytes;
            })
        };
        let sizes = [64 << 10, 256 << 10, 900_000];
        let reads: Vec<_> = (0..300)
            .map(|at| tokio::spawn(read(sizes[at % 3])))
            .collect();
        for read in reads {
            read.await.unwrap().unwrap();
        }
        let (now, most) = *under_way.lock().unwrap();
        assert!(now == 0 && most <= MIB, "{most}");
        // One that never fits is alone.
        read(5 * MIB).await.unwrap();
        assert_eq!(under_way.lock().unwrap().1, 5 * MIB);
    }

    #[tokio::test]
    async fn much_work_of_one_kind_leaves_threads_to_the_others() {
        let disk = Arc::<Disk>::default();
        let wait = {
            let disk = disk.clone();
            move || disk.wait()
        };
        let reads: Vec<_> = (0..MANY)
            .map(|_| tokio::spawn(run(WorkKind::Read, wait.clone())))
            .collect();
        let runtime = Handle::current();
        (0..MANY).for_each(|_| start(&runtime, WorkKind::Commit, wait.clone()));
        let others = async {
            while !is_full(WorkKind::Read) || !is_full(WorkKind::Commit) {
                tokio::task::yield_now().await;
            }
            run(WorkKind::Change, || ()).await.unwrap();
            run(WorkKind::Maintenance, || ()).await.unwrap();
            spawn_blocking(|| ()).await.unwrap();
        };
        let ended = tokio::time::timeout(Duration::from_secs(60), others).await;
        disk.answer();
        ended.expect("other work has threads of its own");
        for read in reads {
            read.await.unwrap().unwrap();
        }
    }
}
