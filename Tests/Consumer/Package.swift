// swift-tools-version: 6.1
import PackageDescription

// A program that uses this library beside another one that has a target of SQLite's headers, as SQLiteNIO has: target
// names are one space for all packages of a graph.
let package = Package(
  name: "Consumer",
  dependencies: [.package(name: "Sqlable", path: "../.."), .package(path: "OtherSQLite")],
  targets: [.executableTarget(name: "Consumer", dependencies: ["Sqlable", "OtherSQLite"])],
  swiftLanguageModes: [.v6]
)
