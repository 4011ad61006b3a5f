//! Programs that publish.

use floe_bridges::core::account::Reason;

use crate::fixture::{Joined, SOAP11, SOAP12, notify};

#[tokio::test]
async fn a_publisher_is_answered_when_the_hub_has_its_events() {
    let joined = Joined::start("").await;
    let (pull_point, _) = joined.pull_point().await;
    for (soap, r#type) in [
        (SOAP11, "text/xml"),
        (SOAP12, "application/soap+xml; charset=utf-8; action=\"x\""),
    ] {
        let reply = joined
            .post_as(soap, r#type, "/", &notify(&["a &amp; b", "é"]))
            .await;
        assert_eq!((reply.status, reply.text.as_str()), (202, ""));
    }
    // Topic and event may say it each alone, and any path but those of subscriptions is the broker's.
    let without_topic = notify(&["c"]).replace("<n:Topic>x:Ticks</n:Topic>", "");
    assert_eq!(joined.post("/notify", &without_topic).await.status, 202);
    let expected = ["a &amp; b", "é", "a &amp; b", "é", "c"];
    assert_eq!(joined.take(&pull_point, 5).await, expected);
    let counts = joined.counts();
    assert_eq!((counts.taken_in, counts.sent_out), (5, 5));
    joined.end().await;
}

#[tokio::test]
async fn an_event_that_is_none_is_a_fault_with_the_field_and_publishes_nothing() {
    let joined = Joined::start("").await;
    let wrong = notify(&["first", "second"]).replacen(
        "<price>7</price></Ticker_Event></n:Message></n:NotificationMessage></n:Notify>",
        "<price>7.5</price></Ticker_Event></n:Message></n:NotificationMessage></n:Notify>",
        1,
    );
    let reply = joined.post("/", &wrong).await;
    assert_eq!(reply.status, 500);
    let reason = "expected an int (-2147483648 to 2147483647), got &quot;7.5&quot;";
    for part in [
        format!(
            "<faultcode>soap:Client</faultcode><faultstring>params.tick.price: {reason}</faultstring>"
        ),
        format!("<floe:field>params.tick.price</floe:field><floe:reason>{reason}</floe:reason>"),
    ] {
        assert!(reply.text.contains(&part), "{}", reply.text);
    }
    let reply = joined
        .post_as(SOAP12, "application/soap+xml", "/", &wrong)
        .await;
    assert_eq!(reply.status, 400);
    let code = "<soap:Value>soap:Sender</soap:Value>";
    assert!(reply.text.contains(code), "{}", reply.text);
    let counts = joined.counts();
    assert_eq!(
        (counts.taken_in, counts.not_crossed),
        (0, vec![(Reason::Malformed, 2)])
    );
    joined.end().await;
}

#[tokio::test]
async fn what_cannot_be_published_is_a_fault() {
    let joined = Joined::start("").await;
    for (content, expected) in [
        (
            notify(&["a"]).replace("x:Ticks", "Tocks"),
            "TopicNotSupportedFault",
        ),
        (
            notify(&["a"]).replace("Ticker_Event", "Tocker_Event"),
            "expected the element {urn:floe:slice:M}Ticker_Event",
        ),
        (
            notify(&["&#1;"]),
            "it has the character U+0001, which XML cannot hold",
        ),
        ("<n:Notify/>".to_owned(), "expected a NotificationMessage"),
        ("<x/>".to_owned(), "expected Notify, Subscribe,"),
        (
            "<n:Renew/>".to_owned(),
            "send this to the URL of the subscription",
        ),
    ] {
        let reply = joined.post("/", &content).await;
        assert_eq!(reply.status, 500);
        assert!(reply.text.contains(expected), "{}", reply.text);
    }
    let lost = "/pullpoints/0123456789abcdef0123456789abcdef";
    let reply = joined.post(lost, "<n:DestroyPullPoint/>").await;
    assert!(
        reply.text.contains("UnableToDestroyPullPointFault"),
        "{}",
        reply.text
    );
    joined.end().await;
}

#[tokio::test]
async fn an_answer_is_addressed_if_its_request_was() {
    let joined = Joined::start("").await;
    let content = "</s:Body></s:Envelope>";
    let envelope = format!(
        "<s:Envelope xmlns:s='{SOAP11}' xmlns:a='http://www.w3.org/2005/08/addressing'><s:Header>\
         <a:MessageID>urn:m:1</a:MessageID><a:ReplyTo><a:Address>REPLY</a:Address></a:ReplyTo></s:Header><s:Body>\
         <CreatePullPoint xmlns='http://docs.oasis-open.org/wsn/b-2'/>{content}"
    );
    let send = |reply_to: &str| {
        let body = envelope.replace("REPLY", reply_to);
        format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/xml\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let reply = joined
        .send(&send("http://www.w3.org/2005/08/addressing/anonymous"))
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    for part in [
        "<wsa:RelatesTo>urn:m:1</wsa:RelatesTo>",
        "<wsa:Action>http://docs.oasis-open.org/wsn/bw-2/CreatePullPoint/CreatePullPointResponse</wsa:Action>",
        // URLs begin as the program said the host.
        ">http://localhost/pullpoints/",
    ] {
        assert!(reply.text.contains(part), "{}", reply.text);
    }
    let reply = joined.send(&send("http://127.0.0.1:1/")).await;
    assert!(
        reply.text.contains("an answer goes to its asker only"),
        "{}",
        reply.text
    );
    joined.end().await;
}

#[tokio::test]
async fn the_wsdl_has_the_address_that_was_asked() {
    let joined = Joined::start("").await;
    let reply = joined
        .send("GET /?wsdl HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(reply.status, 200);
    for part in [
        "<soap:address location=\"http://localhost:1/\"/>",
        "<xs:element ref=\"ns1:Ticker_Event\"/>",
    ] {
        assert!(reply.text.contains(part), "{}", reply.text);
    }
    assert!(!reply.text.contains("floe.invalid"));
    joined.end().await;
}
