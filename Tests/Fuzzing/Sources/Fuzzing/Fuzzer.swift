import CFuzzer
import Foundation
import Sqlable

/// Tries documents, and makes new ones of those that led somewhere.
final class Fuzzer {
  /// The most that reading a document may allocate at one time: so many bytes for each of its bytes, and for any.
  static let (bytesPerByte, bytesForAny) = (100, 65_536)

  /// The most that SQLite may allocate, in bytes: a document can ask for much more.
  static let heapLimit = 100_000_000

  private let trial: DocumentTrial
  private var damage: DocumentDamage
  private var runs = 0
  /// The most that reading a document of a kilobyte or more has allocated so far, for each of its bytes.
  private var densest = 0

  /// Takes parts of the documents in directories for its own.
  init(directories: [String]) throws {
    trial = try DocumentTrial(heapLimit: Fuzzer.heapLimit)
    // Files to be tried have no others.
    let documents = directories.compactMap { try? FuzzCorpus(directory: $0) }.flatMap { $0.documents.prefix(5_000) }
    damage = DocumentDamage(
      documents.compactMap { FuzzJSON($0) }, scalars: [#""secret""#, #""archive""#],
      random: SeededGenerator(seed: 0))
  }

  func run(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let document = UnsafeRawBufferPointer(start: bytes, count: count)
    var (decoded, allocated) = read(document)
    // Some things are made once, when they are used first.
    if allocated > most(for: count) { (decoded, allocated) = read(document) }
    if allocated > most(for: count) { fail("reading \(count) bytes allocated \(allocated)", document) }
    if count >= 1_024 { densest = max(densest, allocated / count) }
    if let problem = trial.problem(document, decoded) { fail(problem, document) }
    runs += 1
    if runs.isMultiple(of: 100_000) { report() }
    return 0
  }

  /// The most that reading a document of so many bytes may allocate.
  private func most(for count: Int) -> Int { count * Fuzzer.bytesPerByte + Fuzzer.bytesForAny }

  /// Reads a document; returns also what that allocated at its peak.
  private func read(_ document: UnsafeRawBufferPointer) -> (Result<AnyStatement, any Error>, Int) {
    allocations_begin()
    let decoded = trial.decoded(document)
    return (decoded, allocations_end())
  }

  private func report() {
    print(
      "\(runs) runs: \(trial.accepted) statements, \(trial.permitted) by policies, \(trial.stopped) stopped,",
      "up to \(densest) bytes allocated for each byte")
  }

  /// libFuzzer writes the document to a file when the process aborts.
  private func fail(_ problem: String, _ document: UnsafeRawBufferPointer) -> Never {
    print("\(problem)\n\(String(decoding: document, as: UTF8.self))")
    fflush(nil)
    abort()
  }

  // MARK: New documents

  func mutate(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ capacity: Int, _ seed: UInt64) -> Int {
    damage.random = SeededGenerator(seed: seed)
    guard damage.random.chance(85), var json = FuzzJSON(UnsafeBufferPointer(start: bytes, count: count)) else {
      return LLVMFuzzerMutate(bytes, count, capacity)
    }
    for _ in 0..<damage.random.pick([1, 1, 1, 2, 2, 3, 5]) { json = damage.changed(json) }
    return write(json, UnsafeMutableBufferPointer(start: bytes, count: capacity))
      ?? LLVMFuzzerMutate(bytes, count, capacity)
  }

  func cross(
    _ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>,
    _ result: UnsafeMutableBufferPointer<UInt8>, _ seed: UInt64
  ) -> Int {
    damage.random = SeededGenerator(seed: seed)
    guard let json = FuzzJSON(first), let other = FuzzJSON(second) else { return 0 }
    return write(damage.spliced(json, with: other), result) ?? 0
  }

  /// Writes a document where there is room for it; returns its length.
  private func write(_ json: FuzzJSON, _ room: UnsafeMutableBufferPointer<UInt8>) -> Int? {
    var text = ""
    json.write(to: &text)
    let utf8 = text.utf8
    guard utf8.count <= room.count else { return nil }
    _ = room.initialize(from: utf8)
    return utf8.count
  }
}
