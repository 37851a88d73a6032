import Hummingbird

/// GET /live: all bicycles, kept up to date by the events of GET /changes.
struct LivePage: Sendable {
  func add(to router: Router<some RequestContext>) {
    router.get("live") { _, _ in
      Response(
        status: .ok,
        headers: [.contentType: "text/html; charset=utf-8", .contentSecurityPolicy: LivePage.policy],
        body: ResponseBody(byteBuffer: ByteBuffer(string: LivePage.html)))
    }
    router.get("live.js") { _, _ in
      Response(
        status: .ok, headers: [.contentType: "text/javascript; charset=utf-8"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: LivePage.script)))
    }
  }

  private static let policy = "default-src 'none'; script-src 'self'; connect-src 'self'"

  private static let html = """
    <!doctype html>
    <html lang="en"><head><meta charset="utf-8"><title>Bicycles</title><script src="/live.js" defer></script></head>
    <body><h1>Bicycles</h1><p id="state"></p>
    <table><thead><tr><th>number<th>name<th>color<th>price<tbody id="bicycles"></table></body></html>

    """

  /// The browser itself connects again after a lost connection, and then sends the id of the last event.
  private static let script = #"""
    const bicycles = new Map();
    const counts = { reset: 0, insert: 0, update: 0, delete: 0 };
    let work = Promise.resolve();

    // The list is loaded in steps, so the events wait their turn.
    function inOrder(kind, step) {
      work = work.then(step).then(() => { counts[kind] += 1; show(); });
    }

    async function load() {
      for (;;) {
        try {
          bicycles.clear();
          for (let after = 0; ;) {
            const page = await (await fetch(`/bicycles?limit=100&after=${after}`)).json();
            for (const bicycle of page) bicycles.set(bicycle.id, bicycle);
            if (page.length < 100) return;
            after = page.at(-1).id;
          }
        } catch {
          await new Promise((resume) => setTimeout(resume, 500));
        }
      }
    }

    function show() {
      const rows = [...bicycles.values()].sort((a, b) => a.id - b.id).map((bicycle) => {
        const row = document.createElement("tr");
        for (const key of ["id", "name", "color", "price"]) row.insertCell().textContent = bicycle[key];
        return row;
      });
      document.getElementById("bicycles").replaceChildren(...rows);
      document.getElementById("state").textContent = JSON.stringify(counts);
    }

    const events = new EventSource("/changes");
    events.addEventListener("reset", () => inOrder("reset", load));
    for (const kind of ["insert", "update", "delete"]) {
      events.addEventListener(kind, (event) => inOrder(kind, () => {
        const { old, new: bicycle } = JSON.parse(event.data);
        if (old) bicycles.delete(old.id);
        if (bicycle) bicycles.set(bicycle.id, bicycle);
      }));
    }
    """#
}
