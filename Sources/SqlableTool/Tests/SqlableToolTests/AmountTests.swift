import Foundation
import Testing

@testable import SqlableTool

/// Tests of sizes and durations as text for people.
struct AmountTests {
  @Test(arguments: [
    (0, "0 bytes"), (1, "1 byte"), (2, "2 bytes"), (999, "999 bytes"), (1_000, "1.0 kB"), (1_049, "1.0 kB"),
    (1_050, "1.1 kB"), (4_096, "4.1 kB"), (9_949, "9.9 kB"), (9_950, "10 kB"), (10_499, "10 kB"), (10_500, "11 kB"),
    (999_499, "999 kB"), (999_500, "1.0 MB"), (999_499_999, "999 MB"), (999_500_000, "1.0 GB"),
    (78_487_646_208, "78 GB"), (1_000_000_000_000, "1.0 TB"), (1_000_000_000_000_000, "1.0 PB"), (Int.max, "9.2 EB"),
  ])
  func aSizeHasTwoOrThreeDigitsAndAUnit(bytes: Int, text: String) {
    #expect(bytes.sizeText == text)
  }

  @Test(arguments: [
    (0, "0 s"), (0.25, "1 s"), (59, "59 s"), (59.25, "1 min 0 s"), (60, "1 min 0 s"), (599, "9 min 59 s"),
    (600, "10 min"), (3_599, "59 min"), (3_600, "1 h 0 min"), (90_000, "25 h 0 min"),
  ])
  func aDurationHasOneOrTwoUnits(seconds: Double, text: String) {
    #expect(Duration.seconds(seconds).text == text)
  }

  @Test func theTimeLeftComesFromTheSpeedSinceTheFirstReport() {
    let start = ContinuousClock.now
    var estimate = TimeEstimate()
    func left(_ done: Int, _ total: Int, after seconds: Double) -> String? {
      estimate.timeLeft(done, of: total, at: start + .seconds(seconds))?.text
    }
    #expect(left(100, 1_100, after: 0) == nil)
    #expect(left(200, 1_100, after: 0.4) == nil)
    #expect(left(600, 1_100, after: 10) == "10 s")
    #expect(left(850, 1_100, after: 30) == "10 s")
    // A copy that restarts.
    #expect(left(50, 1_100, after: 40) == nil)
    #expect(left(400, 1_100, after: 45) == "10 s")
    #expect(left(1_100, 1_100, after: 60) == nil)
    #expect(left(401, 1 << 60, after: 1e9) == nil)
  }

  @Test func theProgressHasTheAmountTheFractionAndTheTimeLeft() {
    #expect(ProgressLine.text(1_024, of: 4_096, .pages, nil) == "1024 of 4096 pages, 25 %")
    #expect(ProgressLine.text(7, of: 9, .rows, .seconds(90)) == "7 of 9 rows, 77 %, 1 min 30 s left")
    #expect(ProgressLine.text(999, of: 4_096, .bytes, nil) == "999 bytes of 4.1 kB, 24 %")
    // The number of rows of a plan is an estimate.
    #expect(ProgressLine.text(7, of: 5, .rows, .seconds(1)) == "7 rows")
    #expect(ProgressLine.text(0, of: 0, .pages, nil) == "0 pages")
  }
}
