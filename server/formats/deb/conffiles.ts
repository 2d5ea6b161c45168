import { malformed, quote } from '../../lib/limited.ts'

/** The largest list beside the control file that is read; Debian's own longest has about 20 KiB. */
export const MAX_LIST = 512 * 1024
/** dpkg reads a line into 1000 bytes, and into 1024 for triggers. */
const MAX_LINE = 990

/** A file that dpkg asks about before it writes over it; `isGone` when it is named only to be removed. */
export interface Conffile {
  readonly path: string
  readonly isGone: boolean
}

/** Lines as dpkg reads them: each with its newline, none too long, no blanks at the end. */
function linesOf(body: Buffer, what: string): string[] {
  const text = body.toString('latin1')
  if (text === '') return []
  if (!text.endsWith('\n')) malformed(`the list ${what} does not end with a newline: it is cut off`)
  if (text.includes('\0')) malformed(`the list ${what} holds a NUL`)
  return text
    .slice(0, -1)
    .split('\n')
    .map(line => {
      if (line.length > MAX_LINE) malformed(`the list ${what} has a line of more than ${MAX_LINE} bytes`)
      let end = line.length
      while (end > 0 && ' \t\v\f\r'.includes(line.charAt(end - 1))) end--
      return line.slice(0, end)
    })
}

/**
 * The list `conffiles`. Source: deb-conffiles(5), dpkg 1.21.
 * @throws Malformed for what dpkg refuses when it unpacks
 */
export function parseConffiles(body: Buffer): Conffile[] {
  return linesOf(body, 'conffiles')
    .filter(line => line !== '')
    .map(line => {
      const [, flag, path] =
        /^(?:([^/ ][^ ]*) )?(\/.*)$/.exec(line) ??
        malformed(
          `the list conffiles holds ${quote(line)}; an absolute path is needed, perhaps behind remove-on-upgrade`,
        )
      if (flag !== undefined && flag !== 'remove-on-upgrade')
        malformed(`the list conffiles gives ${quote(path ?? '')} the mark ${quote(flag)}, which dpkg does not know`)
      return {
        path: Buffer.from(path ?? '', 'latin1')
          .toString('utf8')
          .split('/')
          .filter(segment => segment !== '' && segment !== '.')
          .join('/'),
        isGone: flag !== undefined,
      }
    })
}

const DIRECTIVE = /^[ \t]*(\S+)[ \t]+(.*)$/
/** Paths without empty segments, and names of the kind that packages have. */
const INTEREST = /^(?:(?:\/[^/]+)+|[A-Za-z0-9][A-Za-z0-9+._-]*)$/

/**
 * Reads the list `triggers` for what dpkg refuses in it. Source: deb-triggers(5), dpkg 1.21.
 * @throws Malformed
 */
export function checkTriggers(body: Buffer): void {
  for (const line of linesOf(body, 'triggers')) {
    if (/^[ \t]*(#|$)/.test(line)) continue
    const [, directive = '', name = ''] =
      DIRECTIVE.exec(line) ??
      malformed(`the list triggers holds ${quote(line)}; a directive and the name of a trigger are needed`)
    const [, kind] =
      /^(interest|activate)(?:-await|-noawait)?$/.exec(directive) ??
      malformed(`the list triggers holds the directive ${quote(directive)}, which dpkg does not know`)
    if (!(kind === 'interest' ? INTEREST : /^[!-~]+$/).test(name) || !/^[!-~]+$/.test(name))
      malformed(`the list triggers names the trigger ${quote(name)}, which dpkg does not take`)
  }
}
