#if Macros
import SwiftCompilerPlugin
import SwiftSyntaxMacros

@main
struct Plugin: CompilerPlugin {
  let providingMacros: [any Macro.Type] = [ModelMacro.self, EmbeddedMacro.self, PropertyMacro.self]
}
#else
/// Without the package trait `Macros` there are no macros, but SwiftPM still builds the target as a program.
@main
struct Plugin {
  static func main() {}
}
#endif
