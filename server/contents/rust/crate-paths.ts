import type { Found } from '../reader.ts'

/** What the messages of a program in Rust tell of it. */
export interface CratePaths {
  /** Takes a number with a dot in it, as `visitNumbers` gives it. */
  visit(bytes: Buffer, from: number): void
  found(): Found[]
  /** Whether the compiler of Rust made it. */
  isRust(): boolean
}

const MINUS = 0x2d
const MOST = 5_000
const BEFORE = /(?:registry[/\\]src[/\\][^/\\\0]{1,80}|cargo[/\\]registry)[/\\]([A-Za-z][\w-]{0,80})-$/
const VERSION = /^(\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]{1,60})?)[/\\]/
const COMPILER = 'rustc version '

/**
 * Crates by the paths in the messages with which a program in Rust panics:
 * `/registry/src/index.crates.io-1949cf8c6b5b557f/time-0.1.43/src/lib.rs`. They survive `strip`; a crate that cannot
 * panic is not among them.
 */
export function createCratePaths(): CratePaths {
  const crates = new Map<string, Found>()
  let isMade = false
  return {
    visit(bytes, from) {
      if (bytes[from - 1] !== MINUS) {
        isMade ||=
          bytes[from - 1] === 0x20 && bytes.toString('latin1', Math.max(0, from - COMPILER.length), from) === COMPILER
        return
      }
      const [, name = ''] = BEFORE.exec(bytes.toString('latin1', Math.max(0, from - 200), from)) ?? []
      const [, version = ''] = VERSION.exec(bytes.toString('latin1', from, from + 100)) ?? []
      if (name === '' || version === '' || crates.size === MOST) return
      crates.set(`${name}-${version}`, {
        type: 'cargo',
        name,
        version,
        presence: 'shipped',
        rule: 'crate-paths',
        confidence: 'probable',
      })
    },
    found: () => [...crates.values()],
    isRust: () => isMade || crates.size > 0,
  }
}
