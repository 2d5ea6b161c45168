import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Adapter, HeuristicFunc } from 'wuchale'
import { Transformer } from 'wuchale/adapter-vanilla'
import { NAMES_OF, READ, READ_PROPERTIES, TECHNICAL } from './is-text.ts'

type Visit = (node: Node, ...more: readonly never[]) => unknown[]
/** What is looked at of a node of the source. */
interface Node {
  readonly name: string
  readonly operator?: string
  readonly type: string
  readonly key: Node
  readonly expression: Node
  readonly attributes: readonly Node[]
  readonly fragment: Node
  readonly data: string
  readonly quasis?: readonly { readonly value: { readonly cooked: string } }[]
  readonly value: Node | readonly Node[] | string
  readonly argument: Node
  readonly test: Node
  readonly consequent: Node
  readonly alternate: Node
}
/** What is changed of the library's reader of source. */
interface Reader {
  heuristciDetails: { rendered?: boolean }
  commentDirectives: { context?: string | undefined }
  initRuntime: () => string
  mixedVisitor?: unknown
  initMixedVisitor?: () => unknown
  visit: Visit
  visitAttachTag?: Visit
  visitAttribute?: Visit
  visitSvelteElement?: Visit
  visitBinaryExpression: Visit
  visitCallExpression: Visit
  visitConditionalExpression: Visit
  visitExpressionTag: Visit
  visitLiteral: Visit
  visitProperty: Visit
  visitTemplateLiteral: Visit
  visitTemplateLiteralQuasis: Visit
  visitThrowStatement: Visit
  visitVariableDeclarator: Visit
  defaultVisitVariableDeclarator: Visit
}
type ReaderClass = new (...args: never[]) => Reader & Record<'transform' | 'transformSv', () => never>

/** The context of a text that begins or ends with a space. */
const PART = 'part of a sentence'

/** Reads also what the library leaves out, and tells `isText` what is rendered; what is compared is no text. */
function corrected(Base: ReaderClass): ReaderClass {
  return class extends Base {
    constructor(...args: never[]) {
      super(...args)
      const rendered =
        (is: boolean, visit: Visit): Visit =>
        (...given) => {
          const before = this.heuristciDetails.rendered
          this.heuristciDetails.rendered = is
          const found = visit(...given)
          this.heuristciDetails.rendered = before ?? false
          return found
        }
      this.initRuntime = () => '' // imported under its name: there before the first line of a module runs
      const { visitAttribute, visitBinaryExpression, visitExpressionTag } = this
      // the catalogue's keys are trimmed: " until {0}" has to be told from "until {0}"
      const told =
        (visit: Visit): Visit =>
        (node, ...more) => {
          const before = this.commentDirectives.context
          const said = node.quasis === undefined ? node.value : node.quasis.map(({ value }) => value.cooked).join('#')
          const isPart = typeof said === 'string' && said.trim() !== said
          this.commentDirectives.context = isPart ? PART : before === PART ? undefined : before
          const found = visit(node, ...more)
          this.commentDirectives.context = before
          return found
        }
      this.visitLiteral = told(this.visitLiteral)
      this.visitTemplateLiteral = told(this.visitTemplateLiteral)
      const readProperty = rendered(true, node => this.visit(node.value as Node))
      const otherProperty = rendered(false, node => this.visit(node.value as Node))
      const test = rendered(false, node => this.visit(node))
      const inMarkup = rendered(true, visitExpressionTag)
      let isAttribute = false
      this.visitExpressionTag = node => (isAttribute ? visitExpressionTag : inMarkup)(node)
      this.visitTemplateLiteralQuasis = rendered(true, this.visitTemplateLiteralQuasis)
      this.visitCallExpression = rendered(false, this.visitCallExpression)
      this.visitBinaryExpression = node => (/^[!=]==?$/.test(node.operator ?? '') ? [] : visitBinaryExpression(node))
      this.visitConditionalExpression = node => [
        ...test(node.test),
        ...this.visit(node.consequent),
        ...this.visit(node.alternate),
      ]
      this.visitProperty = node =>
        NAMES_OF.has(node.key.name) ? [] : (READ_PROPERTIES.has(node.key.name) ? readProperty : otherProperty)(node)
      this.visitThrowStatement = node => this.visit(node.argument)
      if (visitAttribute !== undefined) {
        const [read, other] = [rendered(true, visitAttribute), rendered(false, visitAttribute)]
        this.visitAttribute = node => {
          if (TECHNICAL.has(node.name)) return []
          isAttribute = true
          const parts = Array.isArray(node.value) && node.value.length > 1 ? (node.value as readonly Node[]) : []
          const isText = parts.some(part => part.type === 'Text' && /\p{L}/u.test(part.data))
          // "{a} {b}" is no text, but what stands in it may be one
          const found =
            parts.length === 0 || isText
              ? (READ.has(node.name) ? read : other)(node)
              : parts.flatMap(part => rendered(READ.has(node.name), one => this.visit(one))(part))
          isAttribute = false
          return found
        }
        this.visitAttachTag = rendered(false, node => this.visit(node.expression))
        this.visitSvelteElement = node => [
          ...node.attributes.flatMap(one => this.visit(one)),
          ...this.visit(node.fragment),
        ]
        this.mixedVisitor = this.initMixedVisitor?.() // made before the changes above
      }
      // the library would wrap these in $derived, and effects that a call makes would stand inside of it; the language
      // of a page does not change
      this.visitVariableDeclarator = this.defaultVisitVariableDeclarator
    }
  }
}

// not exported by its package, which is held at one version
const home = dirname(fileURLToPath(import.meta.resolve('@wuchale/svelte')))
const { SvelteTransformer } = (await import(pathToFileURL(join(home, 'transformer.js')).href)) as {
  readonly SvelteTransformer: ReaderClass
}
const Screen = corrected(SvelteTransformer)
const Script = corrected(Transformer as unknown as ReaderClass)

type Context = Parameters<Adapter['transform']>[0]
interface Setting {
  readonly heuristic: HeuristicFunc
  readonly patterns: unknown
  readonly runtime: unknown
}
const argumentsOf = (
  { content, filename, index, expr, matchUrl }: Context,
  { heuristic, patterns, runtime }: Setting,
): never[] => [content, filename, index, heuristic, patterns, expr, runtime, matchUrl] as never[]

/** For screens. */
export const screens =
  (setting: Setting): Adapter['transform'] =>
  context =>
    new Screen(...argumentsOf(context, setting)).transformSv()
/** For scripts, those with runes too. */
export const scripts =
  (setting: Setting): Adapter['transform'] =>
  context =>
    new Script(...argumentsOf(context, setting)).transform()
