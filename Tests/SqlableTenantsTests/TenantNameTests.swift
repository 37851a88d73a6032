import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

@Suite struct TenantNameTests {
  @Test(arguments: [
    "", ".", "..", ".hidden", "-option", "../acme", "a/b", "/etc/passwd", "a\\b", "a\0b", "a b", "a:b", "a%2fb", "a=b",
    "é", "e\u{301}", "ａcme", "a\u{202e}b", "a\n", String(repeating: "a", count: 201),
    String(repeating: "A", count: 101),
  ])
  func aBadNameIsRefused(_ name: String) async throws {
    try await withTenants { tenants in
      await expectAsync(.tenant(.invalidName)) { try await tenants[name].add("1") }
      await expectAsync(.tenant(.invalidName)) { try await tenants.create(name) }
      await expectAsync(.tenant(.invalidName)) { try await tenants.delete(name) }
      await expectAsync(.tenant(.invalidName)) { _ = try tenants.contains(name) }
      let names = try await tenants.allNames()
      #expect(names.isEmpty)
    }
  }

  @Test(arguments: [
    "acme", "ACME", "aCme", "a", "_", "0", "a..b", "max@example.com", "a+b", "5F2C1E0A-7F3D-4E55-9B1E-0D4B7F7E1C11",
    String(repeating: "a", count: 200), String(repeating: "A", count: 100),
  ])
  func aGoodNameIsWrittenAndReadBack(_ text: String) throws {
    let name = try TenantName(text)
    #expect(TenantName(fileName: name.fileName) == name)
    #expect(name.fileName.utf8.count <= 255 - "-journal".utf8.count)
    #expect(name.fileName == name.fileName.lowercased())
  }

  @Test func namesThatDifferInCaseAreTwoTenants() async throws {
    try await withTenants { tenants in
      try await tenants["acme"].add("small")
      try await tenants["ACME"].add("large")
      #expect(try await tenants["acme"].texts() == ["small"])
      #expect(try await tenants["ACME"].texts() == ["large"])
      #expect(try await tenants.allNames() == ["ACME", "acme"])
    }
  }

  @Test func aKelvinSignIsNotTheNameOfAnOpenTenant() async throws {
    try await withTenants { tenants in
      try await tenants["K"].add("1")
      #expect("\u{212a}" == "K")
      await expectAsync(.tenant(.invalidName)) { _ = try await tenants["\u{212a}"].texts() }
    }
  }

  @Test func theErrorOfABadNameDoesNotContainTheName() {
    let error = sqlError { _ = try TenantName("secret/name") }
    #expect(error?.kind == .tenant(.invalidName))
    #expect(error.map { !"\($0)".contains("secret") } == true)
  }

  @Test func filesAreSpreadOverDirectories() throws {
    let directories = try Set((0..<1_000).map { try TenantName("tenant\($0)").directory })
    #expect(directories.count > 200)
    #expect(directories.allSatisfy { 0..<256 ~= $0 })
    // The place of a file must never change.
    #expect(try TenantName("acme").directory == 0xe4)
  }

  @Test func listingIgnoresOtherFiles() async throws {
    try await withTenants { tenants in
      for name in ["a", "b", "c"] { try await tenants.create(name) }
      let path = try tenants.directory.file(of: TenantName("a"))
      let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
      for file in ["misplaced.sqlite", ".hidden.sqlite", "a=.sqlite", "A.sqlite", "a.sqlite-wal", "notes.txt"] {
        try Data().write(to: URL(fileURLWithPath: directory + "/" + file))
      }
      #expect(try await tenants.allNames() == ["a", "b", "c"])
    }
  }
}
