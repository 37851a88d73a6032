import Foundation
import Testing

@testable import SqlableTestSupport

/// The corpus of the fuzzer (`Tests/Fuzzing`), with the fuzzer's trial.
@Suite struct FuzzCorpusTests {
  private static let file = Repository.root.appending(path: "Tests/Fuzzing/corpus.txt").path

  @Test(.needs(35, "RETURNING")) func everyDocumentOfTheCorpusPassesTheTrial() throws {
    let trial = try DocumentTrial()
    let corpus = try FuzzCorpus(file: FuzzCorpusTests.file)
    for document in corpus.documents {
      let problem = document.withUnsafeBytes { trial.problem($0, trial.decoded($0)) }
      #expect(problem == nil, "\(problem ?? "")\n\(FuzzCorpus.line(document))")
    }
    print("\(corpus.documents.count) documents: \(trial.accepted) statements, \(trial.permitted) by policies")
    #expect(trial.accepted > corpus.documents.count / 4)
    #expect(trial.permitted > 0)
  }

  @Test func aDocumentSurvivesItsLineForm() {
    for document: [UInt8] in [[], Array(#"{"a":"\n"}"#.utf8), Array(0...255), Array(#"\x41\\x41"#.utf8)] {
      #expect(FuzzCorpus.document(FuzzCorpus.line(document).utf8) == document)
    }
  }
}
