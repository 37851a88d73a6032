import Foundation
import Sqlable

extension Scenario {
  /// Documents of the format and of the fuzzer's corpus, damaged at random. `Tests/Fuzzing` also follows the coverage.
  static let documents = Scenario(
    name: "documents",
    promise: "No document ends the process or runs longer than its limits, and an answer under a policy does not "
      + "depend on rows and columns that the policy hides.",
    unit: "documents", limit: 300, flaws: ["showsAnotherName"],
    run: { round in
      let difference: SQL? =
        round.flaw == "showsAnotherName" ? "UPDATE bicycle SET name = 'Other' WHERE id = 1" : nil
      let trial = try DocumentTrial(heapLimit: 100_000_000, difference: difference)
      let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../../..")
      let corpus =
        try FuzzCorpus(file: tests.appendingPathComponent("Fuzzing/corpus.txt").path).documents
        + FuzzCorpus(directory: tests.appendingPathComponent("SqlableDocumentsTests/Coding/Golden/v1").path).documents
      let documents = corpus.compactMap { FuzzJSON($0) }
      guard !documents.isEmpty else { throw Failure("there is no corpus") }
      var damage = DocumentDamage(documents, scalars: [#""secret""#, #""archive""#], random: round.random)
      for _ in 0..<3_000 {
        var json = damage.random.pick(documents)
        if damage.random.chance(30) { json = damage.spliced(json, with: damage.random.pick(documents)) }
        for _ in 0..<damage.random.pick([0, 1, 1, 1, 2, 2, 3, 5]) { json = damage.changed(json) }
        var text = ""
        json.write(to: &text)
        var bytes = Array(text.utf8)
        // Some are no longer JSON.
        if damage.random.chance(10), !bytes.isEmpty {
          let position = Int.random(in: 0..<bytes.count, using: &damage.random)
          bytes[position] = UInt8.random(in: 0...255, using: &damage.random)
        }
        guard bytes.count <= 4_096 else { continue }
        let problem = bytes.withUnsafeBytes { trial.problem($0, trial.decoded($0)) }
        round.tried()
        if let problem { round.report(.wrong, "\(problem) \(FuzzCorpus.line(bytes))") }
      }
    })
}
