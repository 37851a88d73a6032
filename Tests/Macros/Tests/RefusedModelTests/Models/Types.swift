import Foundation
import Sqlable

public struct Money: Sendable { var cents: Int }
struct Codec: Codable { var name: String }
struct Place { var name: String }
protocol Shape: Sendable {}

@Sqlable struct Tuple {
  var id: Int
  var a: (Int, Int)  // refused: a column can't store a tuple
}

@Sqlable struct OptionalTuple {
  var id: Int
  var a: (x: Int, y: Int)?  // refused: a column can't store a tuple
}

@Sqlable struct ArrayOfTuples {
  var id: Int
  var a: [(Int, Int)]  // refused: a column can't store a tuple
}

@Sqlable struct EmptyTuple {
  var id: Int
  var a: Void  // refused: a column can't store a tuple
}

@Sqlable struct Function {
  var id: Int
  var a: @Sendable () -> Void  // refused: a column can't store a function
}

@Sqlable struct OptionalFunction {
  var id: Int
  var a: (@Sendable () -> Void)?  // refused: a column can't store a function
}

@Sqlable struct AnyValue {
  var id: Int
  var a: any Sendable  // refused: a column can't store values of different types
}

@Sqlable struct AnyShape {
  var id: Int
  var a: (any Shape)?  // refused: a column can't store values of different types
}

@Sqlable struct SomeShapes {
  var id: Int
  var a: [any Shape]  // refused: a column can't store values of different types
}

@Sqlable struct Properties {
  var id: Int
  var a: [String: any Sendable]  // refused: a column can't store values of different types
}

@Sqlable struct Composition {
  var id: Int
  var a: any Shape & Codable  // refused: a column can't store values of different types
}

@Sqlable struct Metatype {
  var id: Int
  var a: Int.Type  // refused: a column can't store a metatype
}

@Sqlable struct DoubleOptional {
  var id: Int
  var a: Int??  // refused: a column has one NULL
}

@Sqlable struct OptionalOfOptional {
  var id: Int
  var a: Optional<Int?>  // refused: a column has one NULL
}

@Sqlable struct Pattern {
  var id: Int
  var (a, b) = (1, 2)  // refused: each property of a model needs a separate declaration
}

@Sqlable struct NoType {
  var id: Int
  var a = [1, 2]  // refused: a needs a type annotation
}

@Sqlable struct Payment {  // refused: a column can't store this type
  var id: Int
  var a: Money
}

@Sqlable struct Payments {  // refused: a column can't store this type
  var id: Int
  @Index var a: [Money]
}

@Sqlable struct OptionalPayment {  // refused: a column can't store this type
  var id: Int
  @Unique var a: Money?
}

@Sqlable struct Search {  // refused: a column can't store this type
  var id: Int
  @FullText var a: Money
}

@Sqlable struct Encoded {  // refused: a column can't store this type
  var id: Int
  @Column("b", as: .text) var a: Codec
}

@Sqlable struct Span {  // refused: a column can't store this type
  var id: Int
  var a: Range<Int>
}

@Sqlable struct Letter {  // refused: a column can't store this type
  var id: Int
  var a: Character?
}

@Sqlable struct Clock {  // refused: a column can't store this type
  var id: Int
  var a: Duration
}

@Sqlable public struct Prices {  // refused: a column can't store this type
  public var id: Int
  public var a: [String: Money]
}

@Sqlable final class Bill {  // refused: a column can't store this type
  let id: Int
  let a: Money
}

@Sqlable struct Home {  // refused: only a struct that conforms to SqlEmbedded can be embedded
  var id: Int
  @Embedded var a: Place
}

@Sqlable struct Homes {  // refused: only a struct that conforms to SqlEmbedded can be embedded
  var id: Int
  @Embedded("b") var a: Place?
}

@SqlEmbedded struct Price {  // refused: a column can't store this type
  var id: Int
  var a: Money
}

@SqlEmbedded struct Prism {
  var id: Int
  var a: (Int, Int)  // refused: a column can't store a tuple
}
