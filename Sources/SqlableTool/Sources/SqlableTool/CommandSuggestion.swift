import ArgumentParser

/// A word of the command line that is not a subcommand or an option, with the most similar valid word.
struct CommandSuggestion {
  let message: String

  /// Returns the first unknown subcommand in the arguments; nil if all subcommands are known.
  ///
  /// swift-argument-parser suggests only options.
  static func unknownSubcommand(in arguments: [String], of root: any ParsableCommand.Type) -> CommandSuggestion? {
    let (command, path, rest) = selection(in: arguments, from: root)
    let names = command.configuration.subcommands.compactMap { $0.configuration.commandName }
    guard let word = rest.first, !word.hasPrefix("-"), !names.isEmpty else { return nil }
    let match = word.mostSimilar(in: names + (command == root ? ["help"] : []))
    // The arguments of a default subcommand are addresses, host:port. Such an argument is not a misspelled subcommand.
    if command.configuration.defaultSubcommand != nil, match == nil || word.contains(":") { return nil }
    return CommandSuggestion("unknown subcommand '\(word.visible)'", match, root.usageString(for: command), path)
  }

  /// Returns a suggestion for the first unknown option that is similar to a known option; nil if there is no such
  /// option.
  ///
  /// swift-argument-parser makes no such suggestion if the command also lacks a required option.
  static func unknownOption(in arguments: [String], of root: any ParsableCommand.Type) -> CommandSuggestion? {
    let (selected, path, rest) = selection(in: arguments, from: root)
    let command = selected.configuration.defaultSubcommand ?? selected
    let names = options(of: command) + ["--help"]
    for argument in rest.prefix(while: { $0 != "--" }) where argument.hasPrefix("--") {
      let option = String(argument.prefix { $0 != "=" })
      guard !names.contains(option), let match = option.mostSimilar(in: names) else { continue }
      return CommandSuggestion("unknown option '\(option.visible)'", match, root.usageString(for: command), path)
    }
    return nil
  }

  private init(_ problem: String, _ match: String?, _ usage: String, _ path: [String]) {
    message = """
      \(problem)\(match.map { "; did you mean '\($0)'?" } ?? "")
      Usage: \(usage)
        See '\(path.joined(separator: " ")) --help' for more information.
      """
  }

  /// Returns the command that the arguments select, the names of the commands from the root to this command, and the
  /// arguments after these names.
  private static func selection(
    in arguments: [String], from root: any ParsableCommand.Type
  ) -> (command: any ParsableCommand.Type, path: [String], rest: ArraySlice<String>) {
    var (command, path, rest) = (root, [root.configuration.commandName ?? ""], arguments[...])
    if rest.first == "help" { rest.removeFirst() }
    while let word = rest.first,
      let next = command.configuration.subcommands.first(where: { $0.configuration.commandName == word })
    {
      command = next
      path.append(rest.removeFirst())
    }
    return (command, path, rest)
  }

  private static func options(of command: any ParsableCommand.Type) -> [String] {
    command.usageString(for: command).split { " []()|".contains($0) }.filter { $0.hasPrefix("--") }.map(String.init)
  }
}

extension String {
  /// Returns the most similar of the given words; nil if no word is similar enough to be meant.
  ///
  /// A word is similar if at most a third of its letters differ, or if this string is its beginning.
  func mostSimilar(in words: [String]) -> String? {
    let similar = words.filter { word in
      distance(to: word) <= max(1, word.count / 3) || count > 1 && word.hasPrefix(self)
    }
    return similar.min { distance(to: $0) < distance(to: $1) }
  }

  /// Returns the number of letters to insert, delete, replace or swap with their neighbor, to turn this string into
  /// `other`.
  func distance(to other: String) -> Int {
    let (left, right) = (Array(self), Array(other))
    var (beforeLast, last) = ([Int](), Array(0...right.count))
    for (row, letter) in left.enumerated() {
      var next = [row + 1]
      for (column, otherLetter) in right.enumerated() {
        var least = Swift.min(last[column + 1] + 1, next[column] + 1, last[column] + (letter == otherLetter ? 0 : 1))
        if row > 0, column > 0, letter == right[column - 1], left[row - 1] == otherLetter {
          least = Swift.min(least, beforeLast[column - 1] + 1)
        }
        next.append(least)
      }
      (beforeLast, last) = (last, next)
    }
    return last[right.count]
  }
}
