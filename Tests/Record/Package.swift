// swift-tools-version: 6.1
import PackageDescription

// A package of its own, because its program is only for those who change the library. `Shared` has files of the tests.
let package = Package(
  name: "Record",
  dependencies: [.package(name: "Sqlable", path: "../..")],
  targets: [
    .executableTarget(
      name: "Record",
      dependencies: [
        .product(name: "Sqlable", package: "Sqlable"), .product(name: "SqlableChanges", package: "Sqlable"),
        .product(name: "SqlableRecovery", package: "Sqlable"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
