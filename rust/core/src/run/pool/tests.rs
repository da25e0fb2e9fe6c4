use super::*;
use crate::run::HostToken;

static NEVER: Interrupt = Interrupt::never();

fn jobs(n_jobs: usize, interrupt: &Interrupt) -> Jobs<'_> {
    Jobs { n_jobs, interrupt }
}

/// A token whose host interrupts at the third poll.
fn interrupt_at_third_poll() -> Interrupt {
    let polls = AtomicUsize::new(0);
    HostToken::new(move || polls.fetch_add(1, Ordering::Relaxed) == 2).interrupt()
}

#[test]
fn the_number_of_threads_grows_with_the_work() {
    let four = jobs(4, &NEVER);
    let threads = [0, 1, 2, 3, 100].map(|work| four.threads(work * NANOSECONDS_PER_THREAD));
    assert_eq!(threads, [1, 1, 2, 3, 4]);
    assert_eq!(jobs(1, &NEVER).threads(u64::MAX), 1);
    assert!(jobs(0, &NEVER).threads(u64::MAX) >= 1);
}

#[test]
fn chunks_are_short_in_time_and_many_per_thread() {
    assert_eq!(Work::new(1000, 1).chunk(1), 1000);
    assert_eq!(Work::new(1000, 10_000).chunk(1), 100);
    assert_eq!(Work::new(1000, usize::MAX).chunk(1), 1);
    assert_eq!(Work::new(1000, 1).chunk(2), 15);
    assert_eq!(Work::new(0, 1).chunk(1), 1);
}

#[test]
fn a_scope_has_the_wanted_number_of_threads() {
    let count = |pool: Pool| Ok((pool.threads(), rayon::current_num_threads()));
    assert_eq!(scope(jobs(3, &NEVER), u64::MAX, count).unwrap(), (3, 3));
    assert_eq!(
        scope(jobs(1, &NEVER), u64::MAX, |p| Ok(p.threads())).unwrap(),
        1
    );
    assert_eq!(scope(jobs(3, &NEVER), 0, |p| Ok(p.threads())).unwrap(), 1);
}

#[test]
fn loops_in_a_scope_keep_their_order() {
    for threads in [1, 3] {
        let (squares, values) = scope(jobs(threads, &NEVER), u64::MAX, |pool| {
            let squares = pool.map(1000, 0..50, |i: usize| i * i);
            let mut values = vec![0; 50];
            pool.for_each_chunk(1000, &mut values, 8, |index, chunk| {
                for (i, value) in chunk.iter_mut().enumerate() {
                    *value = (index * 8 + i).pow(2);
                }
            });
            Ok((squares, values))
        })
        .unwrap();
        assert_eq!(squares, values);
        assert_eq!(squares[49], 49 * 49);
    }
}

#[test]
fn results_are_in_order_for_every_number_of_threads() {
    for n_jobs in 0..5 {
        let work = Work::new(100, 1_000);
        let squares = map(jobs(n_jobs, &NEVER), work, || (), |(), i| Ok(i * i)).unwrap();
        assert_eq!(squares, (0..100).map(|i| i * i).collect::<Vec<_>>());
    }
    let none = map(jobs(2, &NEVER), Work::new(0, 1), || (), |(), i| Ok(i)).unwrap();
    assert!(none.is_empty());
}

#[test]
fn the_first_error_is_returned() {
    let fail = |(): &mut (), found: usize| {
        if found % 10 == 7 {
            Err(Error::TooFewLabels { found })
        } else {
            Ok(())
        }
    };
    for n_jobs in 1..4 {
        let result = map(jobs(n_jobs, &NEVER), Work::new(1000, 1000), || (), fail);
        assert_eq!(result, Err(Error::TooFewLabels { found: 7 }));
    }
}

#[test]
fn a_stream_passes_every_result_once() {
    for n_jobs in 0..4 {
        let mut seen = vec![0; 50];
        let double = |(): &mut (), item| item * 2;
        stream(
            jobs(n_jobs, &NEVER),
            Work::new(50, 1),
            || (),
            double,
            |item, double| {
                assert_eq!(double, 2 * item);
                seen[item] += 1;
                true
            },
        )
        .unwrap();
        assert_eq!(seen, [1; 50]);
    }
}

#[test]
fn a_stream_ends_when_its_receiver_has_enough() {
    let mut received = 0;
    let sleep = |(): &mut (), _| std::thread::sleep(Duration::from_millis(1));
    stream(
        jobs(2, &NEVER),
        Work::new(100_000, 1),
        || (),
        sleep,
        |_, ()| {
            received += 1;
            received < 10
        },
    )
    .unwrap();
    assert!((10..1000).contains(&received), "{received}");
}

#[test]
fn an_interruption_ends_every_kind_of_loop() {
    for n_jobs in 1..3 {
        let interrupt = interrupt_at_third_poll();
        let wait = |(): &mut (), _| {
            while interrupt.check().is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let jobs_of = jobs(n_jobs, &interrupt);
        let result = stream(jobs_of, Work::new(10, 1), || (), wait, |_, ()| true);
        assert_eq!(result, Err(Error::Interrupted));
        let slow = |(): &mut (), _| {
            std::thread::sleep(Duration::from_millis(5));
            Ok(())
        };
        let long = Work::new(10_000, 5_000_000);
        let result = map(jobs(n_jobs, &interrupt_at_third_poll()), long, || (), slow);
        assert_eq!(result, Err(Error::Interrupted));
        let interrupt = interrupt_at_third_poll();
        let result = scope(jobs(n_jobs, &interrupt), u64::MAX, |_| loop {
            interrupt.check()?;
            std::thread::sleep(Duration::from_millis(1));
        });
        assert_eq!(result, Err::<(), _>(Error::Interrupted));
    }
}

#[test]
fn one_thread_is_the_calling_thread() {
    let own = std::thread::current().id();
    let is_own = |_: usize| std::thread::current().id() == own;
    let pool = Pool::SERIAL;
    assert_eq!(pool.map(usize::MAX, 0..20, is_own), [true; 20]);
    let mut values = vec![false; 20];
    pool.for_each_chunk(usize::MAX, &mut values, 3, |chunk, values| {
        values.fill(is_own(chunk));
    });
    assert_eq!(values, [true; 20]);
}
