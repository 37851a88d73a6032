import Foundation
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

/// The call sites in events and errors.
@Suite struct CallSiteTests {
  @Test func everyModuleOfTheLibraryIsKnown() throws {
    let sources = Repository.root.appending(path: "Sources").path
    let modules = try FileManager.default.contentsOfDirectory(atPath: sources).filter { $0.hasPrefix("Sqlable") }
    #expect(CallSite.modules == Set(modules).subtracting(["SqlableMacros", "SqlableTool"]))
  }

  @Test func aProgramWithTheLibrarysPrefixIsNotTheLibrary() {
    #expect(CallSite(file: "SqlableCore/Runs.swift", line: 1).isInLibrary)
    #expect(!CallSite(file: "SqlableCoreTests/CallSiteTests.swift", line: 1).isInLibrary)
    #expect(!CallSite(file: "Bikes/main.swift", line: 1).isInLibrary)
  }
}
