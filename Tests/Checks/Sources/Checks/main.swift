import CheckRules
import Foundation

let usage = """
  usage: Checks layers | tidy | tuples [--check] | messages [--check] | type-checking MODULES
         Checks interface GRAPHS [--check | --release]
  """

func run(_ arguments: ArraySlice<String>) throws -> [Report] {
  let repository = try Repository()
  let files = try repository.files()
  guard files.count > 100 else { throw CheckError("only \(files.count) files were found") }
  switch arguments {
  case ["layers"]:
    let order = "Tests/Checks/layers.txt"
    let report = checkLayers(files, LayerOrder(order, try repository.text(order)))
    guard report.declarations > 100 else { throw CheckError("only \(report.declarations) types were found") }
    return [report]
  case ["tidy"]:
    let names = checkUnusedNames(files)
    guard names.declarations > 1000 else { throw CheckError("only \(names.declarations) declarations were found") }
    let calls = checkAsyncForms(files)
    guard calls.declarations > 500 else { throw CheckError("only \(calls.declarations) functions were found") }
    return [checkSizes(files), names, checkWords(files), calls]
  case ["tuples"], ["tuples", "--check"]:
    return [try repository.tuples(files, isCheck: arguments.count == 2)]
  case ["messages"], ["messages", "--check"]:
    return [try repository.messages(files, isCheck: arguments.count == 2)]
  case _ where arguments.count > 1 && arguments.first == "interface":
    let graphs = arguments[1 + arguments.startIndex]
    let report: Report
    switch arguments.dropFirst(2) {
    case [], ["--check"]: report = try repository.interface(graphs: graphs, isCheck: arguments.count == 3)
    case ["--release"]: report = try repository.keepInterface(graphs: graphs)
    default: throw CheckError(usage)
    }
    guard report.declarations > 1000 else { throw CheckError("only \(report.declarations) declarations were found") }
    return [report]
  case _ where arguments.count == 2 && arguments.first == "type-checking":
    let snippets = Snippets(files)
    guard snippets.refused > 600, snippets.valid > 100 else { throw CheckError("too few snippets were found") }
    return [try repository.checkTypes(snippets, modules: arguments[1 + arguments.startIndex])]
  default: throw CheckError(usage)
  }
}

do {
  let reports = try run(CommandLine.arguments.dropFirst())
  for note in reports.flatMap(\.notes) { print(note) }
  let problems = reports.flatMap(\.problems)
  for problem in problems { print(problem) }
  exit(problems.isEmpty ? 0 : 1)
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(2)
}
