import Foundation
import Hummingbird
import Sqlable

/// GET /: the state of the service for a person, as a page that loads itself again every two seconds. It needs no
/// script and nothing from elsewhere.
struct StatusPage: ResponseGenerator {
  let health: Health
  let statistics: SqlitePool.Statistics
  let rates: [StatusHistory.Rates]
  let statements: [StatementTotals.Total]

  func response(from request: Request, context: some RequestContext) throws -> Response {
    Response(
      status: .ok,
      headers: [.contentType: "text/html; charset=utf-8", .contentSecurityPolicy: StatusPage.policy],
      body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
  }

  /// Texts come from the program and from SQL; should one be markup after all, it can't do anything.
  private static let policy = "default-src 'none'; style-src 'unsafe-inline'"

  var html: String {
    """
    <!doctype html>
    <html lang="en"><head><meta charset="utf-8"><title>\(health.isHealthy ? "" : "! ")BikeService</title>
    <meta name="viewport" content="width=device-width"><meta http-equiv="refresh" content="2">
    <style>\(StatusPage.style)</style></head><body><main>
    <header><h1>BikeService</h1>\(state)<nav><a href="/health">health</a><a href="/metrics">metrics</a></nav></header>
    \(problems)
    <section class="tiles">\(tiles)</section>
    <section class="charts">
    \(chart("reads", rates.map { ($0.time, $0.reads) }))
    \(chart("writes", rates.map { ($0.time, $0.writes) }))
    </section>
    <p class="lock"><b>Write lock</b>\((health.writeLock ?? "free").escaped)</p>
    <h2>Statements <small>by their total time</small></h2>
    \(table)
    </main></body></html>

    """
  }

  private var state: String {
    health.isHealthy ? #"<span class="state good">healthy</span>"# : #"<span class="state bad">not healthy</span>"#
  }

  private var problems: String {
    let items = health.problems.map { "<li>\($0.escaped)</li>" }
    return items.isEmpty ? "" : "<ul class=\"problems\">\(items.joined())</ul>"
  }

  private var tiles: String {
    let (cache, commits) = (statistics.statementCache, statistics.commits)
    let used = statistics.openReaders - statistics.idleReaders
    let group = commits == 0 ? "–" : decimal(Double(statistics.writes) / Double(commits))
    return [
      tile("answer", health.answerSeconds.map(time) ?? "none", "to a read just now"),
      tile("readers", "\(used) / \(statistics.openReaders)", "used, of those open"),
      tile("waiting", (statistics.waitingReads + statistics.waitingWrites).grouped, "calls, for a handle"),
      tile("writes a commit", group, "in \(commits.grouped) commits"),
      tile("statement cache", decimal(cache.hitRate * 100) + " %", "hits, in \(bytes(cache.bytes))"),
      tile("WAL", bytes(statistics.walSize), "of \(health.freeBytes.map(bytes) ?? "?") free"),
    ].joined(separator: "\n")
  }

  private func tile(_ name: String, _ value: String, _ note: String) -> String {
    "<div><b>\(name)</b><strong>\(value.escaped)</strong><small>\(note.escaped)</small></div>"
  }

  /// The rates of the last two minutes, the latest at the right.
  private func chart(_ name: String, _ rates: [(time: ContinuousClock.Instant, value: Double)]) -> String {
    let (width, height) = (600.0, 100.0)
    let highest = max(rates.map(\.value).max() ?? 0, 1)
    let points = rates.map { time, value in
      let age = rates[rates.count - 1].time - time
      return (x: decimal(width * (1 - age / StatusHistory.span)), y: decimal(height * (1 - value / highest)))
    }
    let line = points.map { "\($0.x),\($0.y)" }.joined(separator: " ")
    let area = points.first.map { "\($0.x),100 \(line) 600,100" } ?? ""
    return """
      <figure class="\(name)"><figcaption><b>\(name)</b><strong>\(Int(rates.last?.value ?? 0).grouped)</strong>\
      <small>a second</small><small>at most \(Int(highest).grouped)</small></figcaption>
      <svg viewBox="0 0 600 100" preserveAspectRatio="none"><path d="M0 0H600M0 50H600M0 100H600"/>
      <polygon points="\(area)"/><polyline points="\(line)"/></svg>
      <div><small>two minutes ago</small><small>now</small></div></figure>
      """
  }

  private var table: String {
    guard let first = statements.first else { return "<p class=\"lock\">None has run.</p>" }
    let rows = statements.map { statement in
      let share = decimal(statement.total / max(first.total, .nanoseconds(1)) * 100)
      return """
        <tr><td>\(name(of: statement))<i style="width:\(share)%"></i></td>\
        <td>\(statement.count.grouped)</td><td>\(time(statement.total / .seconds(1)))</td>\
        <td>\(time(statement.p50 / .seconds(1)))</td><td>\(time(statement.p99 / .seconds(1)))</td>\
        <td class="\(statement.failures == 0 ? "none" : "failed")">\(statement.failures.grouped)</td></tr>
        """
    }
    return """
      <table><thead><tr><th>SQL, without its values</th><th>runs</th><th>total</th><th>half within</th>\
      <th>99 % within</th><th>failed</th></tr></thead><tbody>
      \(rows.joined(separator: "\n"))
      </tbody></table>
      """
  }

  private func name(of statement: StatementTotals.Total) -> String {
    switch statement.kind {
    case .transaction(.committed): "transactions, committed"
    case .transaction(.rolledBack): "transactions, rolled back"
    default: "<code>\(statement.sql.escaped)</code>"
    }
  }

  // MARK: Numbers

  private func time(_ seconds: Double) -> String {
    switch seconds {
    case 1...: decimal(seconds) + " s"
    case 0.01...: decimal(seconds * 1e3) + " ms"
    case 0.001...: decimal(seconds * 1e3, digits: 2) + " ms"
    default: decimal(seconds * 1e6, digits: 0) + " µs"
    }
  }

  private func bytes(_ count: Int) -> String {
    switch Double(count) {
    case 0x1p30...: decimal(Double(count) / 0x1p30) + " GiB"
    case 0x1p20...: decimal(Double(count) / 0x1p20) + " MiB"
    default: "\(count >> 10) KiB"
    }
  }

  private func decimal(_ value: Double, digits: Int = 1) -> String { String(format: "%.\(digits)f", value) }
}

extension Int {
  /// With narrow blanks between thousands.
  fileprivate var grouped: String {
    let digits = String(self)
    return String(
      digits.enumerated().flatMap { index, digit in
        index > 0 && (digits.count - index) % 3 == 0 ? ["\u{202F}", digit] : [digit]
      })
  }
}

extension String {
  fileprivate var escaped: String {
    replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;")
  }
}

extension StatusPage {
  private static let style = """
    :root{color-scheme:light dark;--ink:#18202b;--dim:#667085;--line:#e4e7ec;--card:#fff;--back:#f6f7f9;--read:#2563c9;
    --write:#c2621b;--good:#15803d;--bad:#c02626}
    @media(prefers-color-scheme:dark){:root{--ink:#e7eaef;--dim:#97a1b0;--line:#2a313b;--card:#191e26;--back:#11151a;
    --read:#6ea3f5;--write:#eb9a56;--good:#4cc07c;--bad:#f27474}}
    *{box-sizing:border-box}
    body{margin:0;background:var(--back);color:var(--ink);font:15px/1.45 Inter,system-ui,sans-serif}
    main{max-width:72rem;margin:0 auto;padding:1.75rem 1.5rem 3rem}
    header{display:flex;align-items:center;gap:.75rem;margin-bottom:1.25rem}
    h1{font-size:1.4rem;font-weight:650;letter-spacing:-.01em;margin:0}
    h2{font-size:1.05rem;font-weight:600;margin:1.75rem 0 .6rem}
    nav{margin-left:auto;display:flex;gap:1.1rem}
    a{color:var(--read);text-decoration:none}a:hover{text-decoration:underline}
    b,small,th{font-size:.8rem;font-weight:400;color:var(--dim)}
    strong{font-weight:600;font-variant-numeric:tabular-nums;letter-spacing:-.01em}
    .state{font-size:.85rem;font-weight:550;padding:.1rem .65rem;border-radius:1rem;border:1px solid;
    background:color-mix(in srgb,currentColor 9%,transparent)}
    .state::before{content:"";display:inline-block;width:.5em;height:.5em;border-radius:50%;background:currentColor;
    margin-right:.45em;vertical-align:.08em}
    .good{color:var(--good)}.bad,.failed{color:var(--bad)}
    .problems{margin:0 0 1rem;padding:.7rem 1rem;list-style:none;color:var(--bad);border:1px solid;border-radius:.6rem;
    background:color-mix(in srgb,currentColor 7%,var(--card))}
    .tiles,figure,table,.lock{background:var(--card);border:1px solid var(--line);border-radius:.6rem}
    .tiles{display:grid;grid-template-columns:repeat(6,1fr);gap:1px;background:var(--line);overflow:hidden}
    .tiles div{background:var(--card);padding:.8rem 1rem;display:flex;flex-direction:column}
    .tiles strong{font-size:1.45rem;line-height:1.5}
    .charts{display:grid;grid-template-columns:1fr 1fr;gap:1rem;margin-top:1rem}
    figure{margin:0;padding:.9rem 1rem .7rem}
    figcaption,figure div{display:flex;align-items:baseline;gap:.4rem}
    figcaption b{font-size:.95rem;color:var(--line-ink);margin-right:.3rem}
    figcaption b::before{content:"";display:inline-block;width:.6em;height:.6em;border-radius:2px;margin-right:.5em;
    background:var(--line-ink)}
    figcaption strong{font-size:1.25rem}figcaption small:last-child{margin-left:auto}
    figure div{justify-content:space-between}
    .reads{--line-ink:var(--read)}.writes{--line-ink:var(--write)}
    svg{display:block;width:100%;height:7rem;margin:.6rem 0 .4rem;overflow:visible}
    path,polyline{fill:none;vector-effect:non-scaling-stroke}path{stroke:var(--line)}
    polyline{stroke:var(--line-ink);stroke-width:1.75;stroke-linejoin:round}polygon{fill:var(--line-ink);opacity:.12}
    .lock{margin:1rem 0 0;padding:.55rem 1rem;overflow:hidden;white-space:nowrap;text-overflow:ellipsis}
    .lock b{margin-right:.8rem}
    table{width:100%;border-collapse:separate;border-spacing:0}
    th,td{text-align:right;vertical-align:top;padding:.55rem 1rem .55rem .5rem;white-space:nowrap;font-size:.9rem;
    font-variant-numeric:tabular-nums}th{font-size:.8rem}.none{color:var(--dim)}
    td{border-top:1px solid var(--line)}
    th:first-child,td:first-child{text-align:left;white-space:normal;padding-left:1rem;width:99%}
    code{font:.79rem/1.5 ui-monospace,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere;display:-webkit-box;
    -webkit-box-orient:vertical;-webkit-line-clamp:3;overflow:hidden}
    i{display:block;height:3px;min-width:3px;border-radius:2px;margin-top:.35rem;background:var(--read);opacity:.55}
    @media(max-width:56rem){.tiles{grid-template-columns:repeat(3,1fr)}.charts{grid-template-columns:1fr}}
    @media(max-width:42rem){main{padding:1rem .8rem 2rem}.lock{white-space:normal;min-height:4rem}.lock b{display:block}
    .tiles{grid-template-columns:1fr 1fr}thead{display:none}
    tr{display:grid;grid-template-columns:repeat(4,1fr) auto;padding:.6rem 1rem;border-top:1px solid var(--line)}
    tr:first-child{border-top:0}th,td,td:first-child{padding:0;border:0;width:auto;text-align:left;font-size:.85rem}
    td:first-child{grid-column:1/-1;margin-bottom:.4rem}.none{display:none}
    td:not(:first-child)::before{display:block;color:var(--dim);font-size:.75rem}td:nth-child(2)::before{content:"runs"}
    td:nth-child(3)::before{content:"total"}td:nth-child(4)::before{content:"half within"}
    td:nth-child(5)::before{content:"99 % within"}td:nth-child(6)::before{content:"failed"}}
    """
}
