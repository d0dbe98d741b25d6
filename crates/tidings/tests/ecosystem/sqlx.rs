//! sqlx works in our tasks: the feature `tokio`.
//! `cargo test -p tidings-ecosystem-test --features all`; a stage of CI runs it.
//!
//! Money goes round between accounts, by more tasks than the pool has connections. Whatever is given
//! up on the way, none is made or lost, and the pool is as good as before.

use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use tidings::JoinSet;

const ACCOUNTS: i64 = 10;
const EACH: i64 = 1_000;
const CONNECTIONS: u32 = 4;
const TASKS: i64 = 100;
/// Rows enough that the connection waits for whoever takes them.
const MANY: &str = "with recursive n(x) as (select 1 union all select x + 1 from n where x < 20000)
    select x from n";

/// A file that is removed, with what SQLite put beside it.
struct File(PathBuf);

impl File {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidings-sqlx-{}-{number}.db", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm"] {
            let mut path = self.0.clone().into_os_string();
            path.push(end);
            // What is not there needs no removal.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// In a task, on 1 and on 4 workers, with a pool of [`CONNECTIONS`]; the money is counted before
/// and after.
fn with_a_pool<F>(body: impl Fn(SqlitePool) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut tokio = tokio::runtime::Builder::new_multi_thread();
    let tokio = tokio.worker_threads(1).enable_all().build().unwrap();
    for workers in [1, 4] {
        let file = File::new();
        let options = SqliteConnectOptions::new()
            .filename(&file.0)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Off)
            .busy_timeout(Duration::from_secs(600));
        let runtime = tidings::Runtime::builder().workers(workers);
        let runtime = runtime.tokio_handle(tokio.handle().clone());
        let runtime = runtime.build().unwrap();
        let pool = runtime.block_on(async {
            let pool = SqlitePoolOptions::new()
                .max_connections(CONNECTIONS)
                .acquire_timeout(Duration::from_secs(600));
            let pool = pool.connect_with(options).await.unwrap();
            let accounts = "create table account (id integer primary key, money integer not null)";
            let moves = "create table moved (task integer primary key)";
            for table in [accounts, moves] {
                sqlx::query(table).execute(&pool).await.unwrap();
            }
            for id in 0..ACCOUNTS {
                let insert = sqlx::query("insert into account values (?, ?)");
                let insert = insert.bind(id).bind(EACH);
                insert.execute(&pool).await.unwrap();
            }
            pool
        });
        runtime.block_on(async {
            let body = body(pool.clone());
            tidings::spawn(body).await.unwrap();
            assert_eq!(
                count(&pool, "select sum(money) from account").await,
                ACCOUNTS * EACH
            );
            every_connection_is_free(&pool).await;
            pool.close().await;
        });
    }
}

async fn count(pool: &SqlitePool, what: &str) -> i64 {
    sqlx::query_scalar(what).fetch_one(pool).await.unwrap()
}

/// Takes all there may be at a time, and asks each.
async fn every_connection_is_free(pool: &SqlitePool) {
    let mut taken = Vec::new();
    for _ in 0..CONNECTIONS {
        taken.push(pool.acquire().await.unwrap());
    }
    for connection in &mut taken {
        let one = sqlx::query_scalar("select 1").fetch_one(&mut **connection);
        let one: i64 = one.await.unwrap();
        assert_eq!(one, 1);
    }
}

/// Money goes from one account to the next, all in one transaction that is not at its end.
async fn begin_to_move(
    pool: &SqlitePool,
    task: i64,
) -> Result<sqlx::Transaction<'static, sqlx::Sqlite>, sqlx::Error> {
    let mut begun = pool.begin().await?;
    for (account, change) in [(task % ACCOUNTS, -1), ((task + 1) % ACCOUNTS, 1)] {
        let update = sqlx::query("update account set money = money + ? where id = ?");
        let update = update.bind(change).bind(account);
        update.execute(&mut *begun).await?;
        // The next of our tasks finds the transaction half done.
        tidings::yield_now().await;
    }
    let note = sqlx::query("insert into moved values (?)").bind(task);
    note.execute(&mut *begun).await?;
    Ok(begun)
}

/// What it comes to, or `None` if it has not come to anything after so many polls.
async fn given_up_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[test]
fn transactions_of_many_tasks_are_committed_or_rolled_back() {
    with_a_pool(|pool| async move {
        let mut tasks = JoinSet::new();
        for task in 0..TASKS {
            let pool = pool.clone();
            tasks.spawn(async move {
                let begun = begin_to_move(&pool, task).await.unwrap();
                match task % 4 {
                    0 => begun.rollback().await.unwrap(),
                    1 => drop(begun),
                    _ => begun.commit().await.unwrap(),
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        assert_eq!(count(&pool, "select count(*) from moved").await, TASKS / 2);
        let first = "select count(*) from moved where task % 4 in (0, 1)";
        assert_eq!(count(&pool, first).await, 0);
    });
}

#[test]
fn what_is_given_up_half_way_leaves_the_pool_as_it_was() {
    with_a_pool(|pool| async move {
        let mut tasks = JoinSet::new();
        for task in 0..TASKS {
            let pool = pool.clone();
            tasks.spawn(async move {
                let polls = usize::try_from(task).unwrap() % 12;
                let moved = given_up_after(polls, begin_to_move(&pool, task)).await;
                let begun = moved.is_some();
                drop(moved);
                // Rows that nobody takes any more.
                let rows = sqlx::query_scalar::<_, i64>(MANY).fetch_all(&pool);
                let rows = given_up_after(polls, rows).await;
                if let Some(rows) = rows {
                    assert_eq!(rows.unwrap().len(), 20_000);
                }
                begun
            });
        }
        let mut begun = 0;
        while let Some(done) = tasks.join_next().await {
            begun += i64::from(done.unwrap());
        }
        // One poll is never enough, so some were given up.
        assert!(begun < TASKS);
        assert_eq!(count(&pool, "select count(*) from moved").await, 0);
    });
}

#[test]
fn tasks_that_are_aborted_give_their_connections_back() {
    with_a_pool(|pool| async move {
        let (held, holds) = tidings::unbounded();
        let mut tasks = Vec::new();
        for task in 0..TASKS {
            let (pool, held) = (pool.clone(), held.clone());
            tasks.push(tidings::spawn(async move {
                let begun = begin_to_move(&pool, task).await.unwrap();
                held.send(()).await.unwrap();
                std::future::pending::<()>().await;
                drop(begun);
            }));
        }
        drop(held);
        // One holds the only transaction that may write; the others wait for it, or for a connection.
        holds.recv().await.unwrap();
        for task in &tasks {
            task.abort();
        }
        for task in tasks {
            assert!(task.await.unwrap_err().is_cancelled());
        }
        assert_eq!(count(&pool, "select count(*) from moved").await, 0);
    });
}
