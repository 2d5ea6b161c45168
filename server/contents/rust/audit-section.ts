import { promisify } from 'node:util'
import { inflate } from 'node:zlib'
import { fieldsOf, isFields } from '../../lib/fields.ts'
import { malformed } from '../../lib/limited.ts'
import { bytesOf, sectionOf } from '../binary/image.ts'
import { mayBeImage, openImages } from '../binary/images.ts'
import { parseJsonObject } from '../../lib/json-file.ts'
import type { Found, Reader } from '../reader.ts'
import { isNamed, MOST_ROWS, textOf } from '../text-file.ts'
import { ELSEWHERE, FOR_BUILDING, OWN_PROJECT } from '../unasked.ts'

/** The section that `cargo auditable` and distributions' builds add. */
export const AUDIT_SECTION = '.dep-v0'
// what the crate that reads it allows
const MOST_JSON = 8 * 2 ** 20

const inflated = promisify(inflate)

async function jsonIn(bytes: Buffer): Promise<string> {
  try {
    return (await inflated(bytes, { maxOutputLength: MOST_JSON })).toString('utf8')
  } catch (cause) {
    return malformed('its list of crates is damaged, or unpacks to more than 8 MiB', cause)
  }
}

/** A crate; what was only needed for building is not in the program. */
function crateIn(row: unknown): Found[] {
  const { name, version, source, kind, root } = fieldsOf(row)
  if (!isFields(row) || textOf(name) === '' || textOf(version) === '') return []
  const unasked =
    root === true
      ? OWN_PROJECT
      : kind === 'build'
        ? FOR_BUILDING
        : source === 'crates.io'
          ? undefined
          : source === 'local'
            ? OWN_PROJECT
            : ELSEWHERE
  return [
    {
      type: 'cargo',
      name: textOf(name),
      version: textOf(version),
      presence: kind === 'build' ? 'declared' : 'shipped',
      rule: 'cargo-auditable',
      confidence: 'certain',
      ...(unasked === undefined ? {} : { unasked }),
    },
  ]
}

/** Programs in Rust that list their crates. Source: github.com/rust-secure-code/cargo-auditable, PARSING.md */
export const auditSection: Reader = {
  id: 'cargo-auditable',
  wants: mayBeImage,
  async read(file) {
    const found: Found[] = []
    for (const image of await openImages(file)) {
      const section = sectionOf(image, AUDIT_SECTION)
      if (section === undefined) continue
      const { packages } = parseJsonObject(await jsonIn(await bytesOf(image, section, MOST_JSON)))
      if (!Array.isArray(packages)) malformed('its list of crates is damaged')
      else if (packages.length > MOST_ROWS) malformed(`it names more than ${MOST_ROWS} crates`)
      else found.push(...packages.flatMap(crateIn).filter(isNamed))
    }
    return { found }
  },
}
