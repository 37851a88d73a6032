// The terms that functions accept: untyped terms, and typed terms of suitable types. A function of an untyped term has
// an untyped result. SQLite checks the values of untyped terms.

import FoundationEssentials
import SqlableCore

/// The result of a function: a ``SqlExpression`` or a ``TypedExpression``.
public protocol ResultTerm: AnyTerm {
  /// Makes a term of an expression. Like `typed(as:)`, this initializer does not check the type of the expression.
  init(expression: SqlExpression)
}

extension TypedExpression: ResultTerm {}

extension SqlExpression: ResultTerm {
  public init(expression: SqlExpression) { self = expression }
}

/// A term on which functions can be called. The associated types are the types of the functions' results:
/// ``SqlExpression`` for an untyped term, a ``TypedExpression`` for a typed term.
public protocol FunctionTerm: AnyTerm {
  /// A result with the type of the term.
  associatedtype Same: ResultTerm
  /// A result of type `Double?`.
  associatedtype OfDouble: ResultTerm
  /// A result of type `Int?`.
  associatedtype OfInt: ResultTerm
  /// A result of type `String?`.
  associatedtype OfText: ResultTerm
  /// A result of type `Date?`.
  associatedtype OfDate: ResultTerm

  /// The types of the results, from which the compiler infers the associated types.
  static var results: (Same.Type, OfDouble.Type, OfInt.Type, OfText.Type, OfDate.Type) { get }
}

/// A term that functions of numbers accept: an untyped term, or a typed term whose values are numbers.
public protocol NumberTerm: FunctionTerm {}

/// A term that bitwise operations accept: an untyped term, or a typed term whose values are integers.
public protocol IntegerTerm: FunctionTerm {}

/// A term that functions of text accept: an untyped term, or a typed term whose values are text.
public protocol TextTerm: FunctionTerm {}

/// A term that functions of dates accept: an untyped term, or a typed term whose values are dates.
public protocol DateTerm: FunctionTerm {}

extension FunctionTerm where Self: SqlTerm {
  public static var results:
    (
      SqlExpression.Type, SqlExpression.Type, SqlExpression.Type, SqlExpression.Type, SqlExpression.Type
    )
  { (SqlExpression.self, SqlExpression.self, SqlExpression.self, SqlExpression.self, SqlExpression.self) }
}

extension FunctionTerm where Self: TypedTerm {
  public static var results:
    (
      TypedExpression<Value>.Type, TypedExpression<Double?>.Type, TypedExpression<Int?>.Type,
      TypedExpression<String?>.Type, TypedExpression<Date?>.Type
    )
  {
    (
      TypedExpression<Value>.self, TypedExpression<Double?>.self, TypedExpression<Int?>.self,
      TypedExpression<String?>.self, TypedExpression<Date?>.self
    )
  }
}

extension SqlExpression: NumberTerm, IntegerTerm, TextTerm, DateTerm {}
extension Column: NumberTerm, IntegerTerm, TextTerm, DateTerm {}

extension TypedExpression: FunctionTerm {}
extension TypedExpression: NumberTerm where Value: SqlNumber {}
extension TypedExpression: IntegerTerm where Value: SqlInteger {}
extension TypedExpression: TextTerm where Value: SqlText {}
extension TypedExpression: DateTerm where Value: SqlDate {}

extension TypedColumn: FunctionTerm {}
extension TypedColumn: NumberTerm where Value: SqlNumber {}
extension TypedColumn: IntegerTerm where Value: SqlInteger {}
extension TypedColumn: TextTerm where Value: SqlText {}
extension TypedColumn: DateTerm where Value: SqlDate {}

extension Parameter: FunctionTerm {}
extension Parameter: NumberTerm where Value: SqlNumber {}
extension Parameter: IntegerTerm where Value: SqlInteger {}
extension Parameter: TextTerm where Value: SqlText {}
extension Parameter: DateTerm where Value: SqlDate {}
