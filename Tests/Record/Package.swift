// swift-tools-version: 6.1
import PackageDescription

// A package of its own, because its program is only for those who change the library. `Shared` has files of the tests.
// Like them, it is compiled with the library's package name, which SwiftPM derives from the directory's.
let directory = Context.packageDirectory.split(separator: "/").dropLast(2).last ?? ""
let library = String(directory.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })

let package = Package(
  name: "Record",
  dependencies: [.package(name: "Sqlable", path: "../..")],
  targets: [
    .executableTarget(
      name: "Record",
      dependencies: [
        .product(name: "Sqlable", package: "Sqlable"), .product(name: "SqlablePolicies", package: "Sqlable"),
        .product(name: "SqlableBackup", package: "Sqlable"), .product(name: "SqlableChanges", package: "Sqlable"),
        .product(name: "SqlableRecovery", package: "Sqlable"), .product(name: "SqlableTenants", package: "Sqlable"),
      ],
      // In the root's .build, the modules of the tests can be imported, but the files are part of this target.
      packageAccess: false, swiftSettings: [.define("RECORD"), .unsafeFlags(["-package-name", library])])
  ],
  swiftLanguageModes: [.v6]
)
