// swift-tools-version: 6.1
import CompilerPluginSupport
import PackageDescription

let syntaxProducts = [
  "SwiftCompilerPlugin", "SwiftDiagnostics", "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros",
]

// The trait Macros, off by default, adds the macros, which need swift-syntax. While it is off, nothing of that is
// resolved or built, and the macro target is an empty program.
let package = Package(
  name: "Sqlable",
  products: [
    .library(name: "Sqlable", targets: ["Sqlable"]),
    .executable(name: "Flights", targets: ["Flights"]),
    .executable(name: "sqlable", targets: ["SqlableTool"]),
  ],
  traits: [
    .trait(name: "Macros", description: "The macros @Sqlable and @SqlEmbedded, which write a model's conformance.")
  ],
  dependencies: [
    .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1")
  ],
  targets: [
    .systemLibrary(
      name: "CSqlableSQLite",
      pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"])]
    ),
    .macro(
      name: "SqlableMacros",
      dependencies: syntaxProducts.map {
        .product(name: $0, package: "swift-syntax", condition: .when(traits: ["Macros"]))
      }
    ),
    .target(
      name: "Sqlable",
      dependencies: ["CSqlableSQLite", .target(name: "SqlableMacros", condition: .when(traits: ["Macros"]))]
    ),
    .executableTarget(
      name: "Flights",
      dependencies: ["Sqlable"],
      resources: [.copy("Data")]
    ),
    .executableTarget(name: "SqlableTool", dependencies: ["Sqlable"]),
    .testTarget(
      name: "SqlableTests", dependencies: ["Sqlable", "Flights", "SqlableTool"], exclude: ["Coding/Golden"]),
  ],
  swiftLanguageModes: [.v6]
)
