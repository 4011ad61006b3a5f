//! The page of the console in a browser: each view, hostile names, many topics, and a hub that stops and returns.

use floe::hub::HubClient;

use crate::browser::Browser;
use crate::console::{EMPTY, Folder, server};

/// A name that would run a script, if it were markup.
const HOSTILE: &str = "<img src=x onerror=\"document.title='owned'\"></script>";

async fn hub_client(server: &floe_server::Server) -> HubClient {
    let manager = server.hub().expect("a hub").topic_manager();
    HubClient::connect(&manager).await.expect("the hub")
}

/// Runs something that blocks, while the server goes on.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work)
        .await
        .expect("it does not panic")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_view_renders_and_hostile_names_are_text() {
    let folder = Folder::new("views");
    let more = "[topic.orders]\ndurable = true\n[gateway]\nlisten = \"tcp -h 127.0.0.1 -p 0\"\nverifier = \"accept-all\"\n";
    let server = server(&folder, "127.0.0.1:0", more).await;
    let client = hub_client(&server).await;
    let (orders, hostile) = (client.topic("orders").await, client.topic(HOSTILE).await);
    let (orders, hostile) = (orders.expect("a topic"), hostile.expect("a topic"));
    orders
        .proxy()
        .link(Some(hostile.proxy()), 3)
        .await
        .expect("a link");
    let publisher = hostile.proxy().get_publisher().await.expect("a publisher");
    publisher
        .invoke("tick", floe::OperationMode::Normal, EMPTY)
        .await
        .expect("an event");
    let url = format!("http://{}/", server.console_address().expect("a console"));
    let has_browser = beside(move || {
        let Some(mut browser) = Browser::open(&url) else {
            return false;
        };
        browser.wait("document.getElementById('state').textContent === 'all is well'");
        for (view, expected) in [
            ("overview", "Nothing is wrong."),
            ("topics", HOSTILE),
            ("durable", "Logs of durable topics"),
            ("letters", "No durable subscription has a topic"),
            ("links", HOSTILE),
            ("gateway", "Sessions"),
            ("limits", "limits.topics"),
        ] {
            browser.value(&format!("location.hash = '#{view}'"));
            let expected = serde_json::Value::from(expected);
            // A link shows the proxy of a topic, where quotes are escaped.
            let text = "document.getElementById('view').innerText.replaceAll('\\\\', '')";
            browser.wait(&format!("{text}.includes({expected})"));
            browser.wait(&format!(
                "document.querySelector('nav a[aria-current]').getAttribute('href') === '#{view}'"
            ));
            assert_eq!(
                browser.value("document.querySelectorAll('main img, main script').length"),
                0,
                "{view}"
            );
            // Nothing but tables and the list of views is wider than the narrowest screen.
            browser.resize(360, 640);
            let overflow =
                "document.documentElement.scrollWidth - document.documentElement.clientWidth";
            assert_eq!(browser.value(overflow), 0, "{view} at 360 pixels");
            browser.resize(1280, 800);
        }
        // A topic is found by its name, with the keyboard in the filter while snapshots come.
        browser.value("location.hash = '#topics'");
        browser.wait("document.getElementById('filter')");
        browser.value("(() => { const f = document.getElementById('filter'); f.focus(); f.value = 'img'; f.dispatchEvent(new Event('input')); })()");
        browser.wait("document.querySelectorAll('tbody tr').length === 1 && document.activeElement.id === 'filter'");
        browser.value("document.querySelector('tbody a').click()");
        browser.wait("document.querySelector('#view h2').textContent.startsWith('<img') && document.getElementById('view').innerText.includes('Nobody subscribes')");
        let title = browser.value("document.title");
        assert!(
            title
                .as_str()
                .is_some_and(|title| title.starts_with("Topics")),
            "{title}"
        );
        true
    });
    let _ = has_browser.await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_topics_are_shown_a_hundred_at_a_time() {
    // In memory they are made quickly; a store on disk syncs each.
    let mut configuration = floe_server::Configuration::new(floe::Settings::default());
    configuration.hub.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
    configuration.console.listen = Some(([127, 0, 0, 1], 0).into());
    let server = floe_server::Server::start(configuration)
        .await
        .expect("free ports");
    let client = hub_client(&server).await;
    for number in 0..10_000 {
        client
            .topic(&format!("topic-{number:05}"))
            .await
            .expect("a topic");
    }
    let url = format!(
        "http://{}/#topics",
        server.console_address().expect("a console")
    );
    let seen = beside(move || {
        let mut browser = Browser::open(&url)?;
        browser.wait("document.querySelectorAll('tbody tr').length === 100");
        browser.wait("document.getElementById('view').innerText.includes('100 of 10,000 topics')");
        browser.value("(() => { const f = document.getElementById('filter'); f.value = 'topic-0999'; f.dispatchEvent(new Event('input')); })()");
        browser.wait("document.querySelectorAll('tbody tr').length === 10");
        Some(())
    });
    let _ = seen.await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_outlasts_its_server() {
    let folder = Folder::new("returns");
    let first = server(&folder, "127.0.0.1:0", "").await;
    let address = first.console_address().expect("a console");
    let url = format!("http://{address}/");
    let browser = beside(move || {
        let mut browser = Browser::open(&url)?;
        browser.wait("document.getElementById('state').textContent === 'all is well'");
        Some(browser)
    });
    let Some(mut browser) = browser.await else {
        return first.shutdown().await;
    };
    first.shutdown().await;
    let mut browser = beside(move || {
        browser.wait("document.getElementById('state').textContent.startsWith('away') && document.body.classList.contains('stale')");
        browser
    })
    .await;
    let second = server(&folder, &address.to_string(), "").await;
    beside(move || {
        browser.wait("document.getElementById('state').textContent === 'all is well' && !document.body.classList.contains('stale')");
    })
    .await;
    second.shutdown().await;
}
