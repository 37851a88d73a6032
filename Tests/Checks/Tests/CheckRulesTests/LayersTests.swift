import Testing

@testable import CheckRules

struct LayersTests {
  let order = LayerOrder(
    "layers.txt",
    """
    # From the bottom up.
    SqlableCore
      Wheels  # no reason
      Wheels/Spokes
      .

    SqlableRoad
      Paths
    """)
  let low = SourceFile("Sources/SqlableCore/Wheels/Rim.swift", "public struct Rim {}\n")
  let middle = SourceFile("Sources/SqlableCore/Wheels/Spokes/Spoke.swift", "enum Spoke {}\n")
  let top = SourceFile("Sources/SqlableCore/Bicycle.swift", "@frozen public struct Bicycle { var rim: Rim }\n")
  let other = SourceFile("Sources/SqlableRoad/Paths/Path.swift", "actor Path { var bicycle: Bicycle }\n")

  func problems(_ file: SourceFile) -> [String] {
    checkLayers([low, middle, top, other, file], order).problems.map(\.description)
  }

  @Test func folderMayUseFoldersBelowIt() {
    let report = checkLayers([low, middle, top, other], order)
    #expect(report.problems.isEmpty)
    #expect(report.declarations == 4)
  }

  @Test func aTypeOfAFolderAboveIsFoundAtItsFirstMention() {
    #expect(
      problems(.init("Sources/SqlableCore/Wheels/Hub.swift", "\nlet hub = 0\nfunc a(_: Spoke) -> Spoke {}\n"))
        == ["Sources/SqlableCore/Wheels/Hub.swift:3: Spoke: Wheels uses Wheels/Spokes above it"])
    #expect(
      problems(.init("Sources/SqlableCore/Wheels/Spokes/Hub.swift", "extension Bicycle {}\n"))
        == ["Sources/SqlableCore/Wheels/Spokes/Hub.swift:1: Bicycle: Wheels/Spokes uses . above it"])
  }

  @Test func aTypeOfAFolderAboveIsFoundInAnInterpolation() {
    #expect(
      problems(.init("Sources/SqlableCore/Wheels/Hub.swift", #"let hub = "of \(Bicycle.self)""#))
        == ["Sources/SqlableCore/Wheels/Hub.swift:1: Bicycle: Wheels uses . above it"])
  }

  @Test(arguments: [
    "// Bicycle", "/* /* */ Bicycle */", #"let text = "Bicycle""#, "let text = \"\"\"\n  Bicycle\n  \"\"\"",
    ##"let text = #"\"Bicycle"#"##, "let member = X.Bicycle", "struct Hub { enum Bicycle {} }\nlet a: Bicycle",
    "enum Hub { case Bicycle }\nlet a: Bicycle", "let a: Path",
  ])
  func textsAndMembersAreNotMentions(text: String) {
    #expect(problems(.init("Sources/SqlableCore/Wheels/Hub.swift", text)).isEmpty)
  }

  @Test(arguments: [
    "private struct Saddle {}", "@frozen fileprivate struct Saddle {}", "struct Bell {\n  struct Saddle {}\n}",
    "extension Bicycle { struct Saddle {} }", "@available(*, deprecated) extension Bicycle { struct Saddle {} }",
  ])
  func aTypeThatOnlyItsFileSeesBelongsToNoFolder(text: String) {
    let user = SourceFile("Sources/SqlableCore/Wheels/Hub.swift", "let a: Saddle\n")
    let files = [low, middle, top, other, user, .init("Sources/SqlableCore/Saddle.swift", text)]
    #expect(checkLayers(files, order).problems.isEmpty)
  }

  @Test(arguments: [
    "public struct Saddle {}", "final class Saddle {}", "package protocol Saddle {}", "indirect enum Saddle {}",
    "@available(*, deprecated) public typealias Saddle = Int", "public actor Saddle {}",
  ])
  func aTypeBelongsToTheFolderThatDeclaresIt(text: String) {
    let user = SourceFile("Sources/SqlableCore/Wheels/Hub.swift", "let a: Saddle\n")
    let files = [low, middle, top, other, user, .init("Sources/SqlableCore/Saddle.swift", text)]
    #expect(
      checkLayers(files, order).problems.map(\.description)
        == ["Sources/SqlableCore/Wheels/Hub.swift:1: Saddle: Wheels uses . above it"])
  }

  @Test func aNameOfTwoFoldersBelongsToNeither() {
    let again = SourceFile("Sources/SqlableCore/Wheels/Spokes/Other.swift", "struct Bicycle {}\n")
    let user = SourceFile("Sources/SqlableCore/Wheels/Hub.swift", "let a: Bicycle\n")
    #expect(checkLayers([low, middle, top, other, again, user], order).problems.isEmpty)
  }

  @Test func aFolderWithoutAPlaceIsFound() {
    #expect(
      problems(.init("Sources/SqlableCore/Brakes/Brake.swift", ""))
        == ["Sources/SqlableCore/Brakes/Brake.swift:1: the folder Brakes has no place in layers.txt"])
  }

  @Test func aListedFolderThatDoesNotExistIsFound() {
    #expect(
      checkLayers([low, top, other], order).problems.map(\.description)
        == ["layers.txt:4: there is no folder Wheels/Spokes in Sources/SqlableCore"])
  }

  @Test func aFolderThatIsListedTwiceIsFound() {
    let order = LayerOrder("layers.txt", "SqlableCore\n  .\n  Wheels\n  Wheels\n")
    #expect(
      checkLayers([low, .init("Sources/SqlableCore/A.swift", "")], order).problems.map(\.description)
        == ["layers.txt:4: Wheels is listed twice"])
  }

  @Test func aTargetOfSeveralFoldersWithoutAnOrderIsFound() {
    let files = [low, middle, top, other, .init("Sources/SqlableLamp/A/A.swift", "")]
    #expect(checkLayers(files, order).problems.isEmpty)
    #expect(
      checkLayers(files + [.init("Sources/SqlableLamp/B/B.swift", "")], order).problems.map(\.description)
        == ["layers.txt:1: the folders of Sources/SqlableLamp have no order"])
  }
}
