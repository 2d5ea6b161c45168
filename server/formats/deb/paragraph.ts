import { isUtf8 } from 'node:buffer'
import { trimBlanks, trimBlanksEnd } from '../../lib/blanks.ts'
import { malformed, printBytes, quote } from '../../lib/limited.ts'

const MAX_FIELD = 256 * 1024
const MAX_FIELDS = 200

/** A field as it was written: the first line trimmed, continuation lines with their leading blank. */
export interface Field {
  readonly name: string
  readonly first: string
  readonly more: string[]
}
/** Field by lower-case name, in their order. */
export type Paragraph = ReadonlyMap<string, Field>

function decode(bytes: Buffer, what: string): string {
  if (!isUtf8(bytes)) malformed(`${what} is not UTF-8, as policy 5.1 wants it`)
  const written = bytes.toString('utf8')
  // dpkg takes such a line for a blank one inside a field, wherever it stands
  if (/(^|\n)\r\n/.test(written)) malformed(`${what} has a line with nothing but a carriage return`)
  const text = written.replaceAll('\r\n', '\n')
  // eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
  const odd = /[\u0000-\u0008\u000b-\u001f\u007f]/.exec(text)
  if (odd !== null) malformed(`${what} holds the control character ${quote(odd[0])}`)
  if (!text.endsWith('\n')) malformed(`${what} does not end with a newline: it is cut off`)
  return text
}

/**
 * A field name is two or more of printable ASCII without a colon, and begins neither with # nor with -. Source: policy
 * 5.1, dpkg.
 */
const FIELD = /^([!"$-,.-9;-~][!-9;-~]+)[ \t]*:(.*)$/s

function addLine(
  line: string,
  at: { readonly what: string; readonly lineNumber: number },
  fields: Map<string, Field>,
  last: Field | undefined,
): Field {
  const { what, lineNumber } = at
  if (line.startsWith(' ') || line.startsWith('\t')) {
    if (last === undefined)
      return malformed(`line ${lineNumber} of ${what} continues a field, and there is none before it`)
    // a blank line inside a field would end the paragraph in the index
    if (trimBlanks(line) === '') {
      malformed(
        `line ${lineNumber} of ${what} is blank inside the field ${last.name}; deb-control(5) writes it as " ."`,
      )
    }
    last.more.push(trimBlanksEnd(line))
    return last
  }
  const match = FIELD.exec(line)
  if (match === null)
    return malformed(`line ${lineNumber} of ${what} is ${quote(line)}; a field name and a colon are needed`)
  const field = { name: match[1] ?? '', first: trimBlanks(match[2] ?? ''), more: [] }
  const key = field.name.toLowerCase()
  if (fields.has(key)) malformed(`${what} has the field ${field.name} twice`)
  if (fields.size === MAX_FIELDS) malformed(`${what} has more than ${MAX_FIELDS} fields`)
  fields.set(key, field)
  return field
}

const lengthOf = (field: Field): number => field.more.reduce((sum, line) => sum + line.length + 1, field.first.length)

/**
 * The one paragraph of a control file of any kind: of a package, a source package, an upload.
 * @param what  as messages call it: `the control file`
 * @throws Malformed for what dpkg refuses, and for what could break an index that carries it
 * Source: deb-control(5), policy 5.1.
 */
export function parseParagraph(bytes: Buffer, what: string): Paragraph {
  const fields = new Map<string, Field>()
  let last: Field | undefined
  let ended = false
  const lines = decode(bytes, what).split('\n')
  lines.pop()
  for (const [index, line] of lines.entries()) {
    if (line === '') {
      ended = fields.size > 0
      continue
    }
    if (ended) malformed(`${what} has a second paragraph at line ${index + 1}; a package has one`)
    last = addLine(line, { what, lineNumber: index + 1 }, fields, last)
  }
  if (!ended && last?.first === '' && last.more.length === 0)
    malformed(`${what} ends with the field ${last.name}, which has no value`)
  for (const field of fields.values()) {
    if (lengthOf(field) > MAX_FIELD)
      malformed(`the field ${field.name} of ${what} has more than ${printBytes(MAX_FIELD)}`)
  }
  return fields
}

/** The whole value, with its continuation lines; empty when the field is not there. */
export function valueOf(paragraph: Paragraph, key: string): string {
  const field = paragraph.get(key)
  return field === undefined ? '' : trimBlanks([field.first, ...field.more].join('\n'))
}
