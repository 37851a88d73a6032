// swift-tools-version: 6.1
import CompilerPluginSupport
import PackageDescription

// The tests of the macros: a package of its own, so that `swift test` of the library never builds swift-syntax.
//
// A macro of another package can't be imported. MacrosUnderTest are the same sources, by a link.
let package = Package(
  name: "Macros",
  dependencies: [
    .package(name: "Sqlable", path: "../..", traits: ["Macros"]),
    .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
  ],
  targets: [
    .macro(
      name: "MacrosUnderTest",
      dependencies: [
        "SwiftCompilerPlugin", "SwiftDiagnostics", "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros",
      ].map { .product(name: $0, package: "swift-syntax") },
      swiftSettings: [.define("Macros")]
    ),
    .executableTarget(name: "Measured", dependencies: [.product(name: "Sqlable", package: "Sqlable")]),
    .testTarget(
      name: "ExpansionTests",
      dependencies: [
        "MacrosUnderTest",
        .product(name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax"),
      ]
    ),
    .testTarget(name: "ModelTests", dependencies: [.product(name: "Sqlable", package: "Sqlable")]),
    .testTarget(
      name: "PrintedModelTests", dependencies: [.product(name: "Sqlable", package: "Sqlable")],
      exclude: ["PrintedModels.sql"]),
    .testTarget(
      name: "RefusedModelTests", dependencies: [.product(name: "Sqlable", package: "Sqlable")], exclude: ["Models"]),
  ],
  swiftLanguageModes: [.v6]
)
