// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "OtherSQLite",
  products: [.library(name: "OtherSQLite", targets: ["OtherSQLite"])],
  targets: [
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3"),
    .target(name: "OtherSQLite", dependencies: ["CSQLite"]),
  ],
  swiftLanguageModes: [.v6]
)
