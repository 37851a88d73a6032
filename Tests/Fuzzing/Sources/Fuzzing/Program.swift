import CFuzzer
import Foundation

/// The fuzzer; `run` compiles and starts it. Its arguments are those of libFuzzer.
///
/// `Fuzzing --unpack FILE DIRECTORY` writes the documents of a corpus as files, `--pack DIRECTORY FILE` the reverse;
/// `--try FILE…` says what is wrong with documents.
@main struct Program {
  static func main() throws {
    let arguments = CommandLine.arguments
    if arguments.count == 4, arguments[1] == "--unpack" {
      try FuzzCorpus(file: arguments[2]).write(directory: arguments[3])
    } else if arguments.count == 4, arguments[1] == "--pack" {
      try FuzzCorpus(directory: arguments[2]).write(file: arguments[3])
    } else if arguments.count > 2, arguments[1] == "--try" {
      let trial = try DocumentTrial(heapLimit: Fuzzer.heapLimit)
      for path in arguments.dropFirst(2) {
        let problem = try Data(contentsOf: URL(fileURLWithPath: path)).withUnsafeBytes {
          trial.problem($0, trial.decoded($0))
        }
        print("\(path): \(problem ?? "nothing")")
      }
    } else {
      fuzzer = try Fuzzer(directories: arguments.dropFirst().filter { !$0.hasPrefix("-") })
      var count = CommandLine.argc
      var values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
      exit(LLVMFuzzerRunDriver(&count, &values) { fuzzer?.run($0, $1) ?? 0 })
    }
  }
}

/// libFuzzer calls functions without a context, on one thread.
nonisolated(unsafe) private var fuzzer: Fuzzer?

@_cdecl("LLVMFuzzerCustomMutator")
public func mutate(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ capacity: Int, _ seed: UInt32) -> Int {
  fuzzer?.mutate(bytes, count, capacity, UInt64(seed)) ?? count
}

@_cdecl("LLVMFuzzerCustomCrossOver")
public func crossOver(
  _ first: UnsafePointer<UInt8>, _ firstCount: Int, _ second: UnsafePointer<UInt8>, _ secondCount: Int,
  _ result: UnsafeMutablePointer<UInt8>, _ capacity: Int, _ seed: UInt32
) -> Int {
  fuzzer?.cross(
    UnsafeBufferPointer(start: first, count: firstCount), UnsafeBufferPointer(start: second, count: secondCount),
    UnsafeMutableBufferPointer(start: result, count: capacity), UInt64(seed)) ?? 0
}
