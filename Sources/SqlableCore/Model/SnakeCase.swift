/// Returns a name in snake_case: `bicycle_shop` for `BicycleShop`, `http_server` for `HTTPServer`.
package func snakeCase(_ name: String) -> String {
  // Drop generic arguments, and the "Unknown context at $7f…" of a type inside a function.
  let characters = Array(name.prefix { $0 != "<" })
  var result = ""
  for (index, character) in characters.enumerated() {
    if character.isUppercase, index > 0 {
      let previous = characters[index - 1]
      let startsWord = previous.isLowercase || previous.isNumber
      let endsAcronym = previous.isUppercase && index + 1 < characters.count && characters[index + 1].isLowercase
      if startsWord || endsAcronym { result += "_" }
    }
    result += character.lowercased()
  }
  return result
}
