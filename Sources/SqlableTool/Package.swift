// swift-tools-version: 6.1
import PackageDescription

// The command sqlable is a separate package, so that users of the library do not download its dependencies. Each trait
// enables the library's trait with the same name.

// The command uses declarations of the library with `package` access. SwiftPM passes the name of the library's
// directory to the compiler as the package name.
let directory = Context.packageDirectory.split(separator: "/").dropLast(2).last ?? ""
let library = String(directory.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })

let package = Package(
  name: "SqlableTool",
  products: [.executable(name: "sqlable", targets: ["SqlableTool"])],
  traits: [
    .trait(name: "Cluster", description: "sqlable cluster, by swift-nio."),
    .trait(name: "ClusterNode", description: "sqlable node, by libdqlite.", enabledTraits: ["Cluster"]),
  ],
  dependencies: [
    .package(
      name: "Sqlable", path: "../..",
      traits: [
        .trait(name: "Cluster", condition: .when(traits: ["Cluster"])),
        .trait(name: "ClusterNode", condition: .when(traits: ["ClusterNode"])),
      ]),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
  ],
  targets: [
    .executableTarget(
      name: "SqlableTool",
      dependencies: [
        .product(name: "Sqlable", package: "Sqlable"), .product(name: "SqlablePolicies", package: "Sqlable"),
        .product(name: "SqlableAdvice", package: "Sqlable"), .product(name: "SqlableBackup", package: "Sqlable"),
        .product(name: "SqlableChanges", package: "Sqlable"), .product(name: "SqlableTenants", package: "Sqlable"),
        .product(name: "SqlableCluster", package: "Sqlable"), .product(name: "SqlableRecovery", package: "Sqlable"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      packageAccess: false,
      swiftSettings: [.unsafeFlags(["-package-name", library])]),
    .testTarget(
      name: "SqlableToolTests",
      dependencies: [
        "SqlableTool", .product(name: "Sqlable", package: "Sqlable"),
        .product(name: "SqlablePolicies", package: "Sqlable"), .product(name: "SqlableBackup", package: "Sqlable"),
        .product(name: "SqlableChanges", package: "Sqlable"), .product(name: "SqlableTenants", package: "Sqlable"),
        .product(name: "SqlableRecovery", package: "Sqlable"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
