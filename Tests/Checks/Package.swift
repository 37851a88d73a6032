// swift-tools-version: 6.1
import PackageDescription

// The rules that the sources and the guides keep, and that neither the compiler nor the formatter checks. A package of
// its own: it needs neither the library nor another package, and builds in seconds.
let package = Package(
  name: "Checks",
  targets: [
    .target(name: "CheckRules"),
    .executableTarget(name: "Checks", dependencies: ["CheckRules"]),
    .testTarget(name: "CheckRulesTests", dependencies: ["CheckRules"]),
  ],
  swiftLanguageModes: [.v6]
)
