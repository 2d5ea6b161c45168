import { ROLES, type Role } from '../core/access.ts'

/** Strongest first: the specification's order. `auditor` stands above `reader` only. */
const ORDER = ['admin', 'maintainer', 'uploader', 'auditor', 'reader'] as const satisfies readonly Role[]

/** Splits a DN at its commas; a comma after a backslash belongs to the value. @returns undefined when it is no DN */
function partsOf(dn: string): { readonly type: string; readonly value: string }[] | undefined {
  const parts = [...dn.matchAll(/(?:\\.|[^\\,])+/gs)].map(([part]) =>
    /^\s*([A-Za-z][\w-]*|\d+(?:\.\d+)*)\s*=\s*(.*?)\s*$/s.exec(part),
  )
  return parts.length === 0 || parts.includes(null)
    ? undefined
    : parts.map(part => ({ type: (part?.[1] ?? '').toLowerCase(), value: unescaped(part?.[2] ?? '').toLowerCase() }))
}

/** Undoes `\,` and `\2c`, byte by byte (RFC 4514, 2.4). */
function unescaped(value: string): string {
  return value
    .replace(/(?:\\[\da-f]{2})+/gi, hex => Buffer.from(hex.replaceAll('\\', ''), 'hex').toString('utf8'))
    .replace(/\\(.)/gs, '$1')
}

/** Whether somebody's group is the one that the settings name, by its whole DN or by its name alone. */
export function isGroup(member: string, named: string): boolean {
  if (named.trim() === '') return false
  const [has, wants] = [partsOf(member), partsOf(named)]
  if (wants !== undefined)
    return (
      has !== undefined &&
      has.length === wants.length &&
      has.every((part, n) => part.type === wants[n]?.type && part.value === wants[n].value)
    )
  return (has?.[0]?.value ?? member.trim().toLowerCase()) === named.trim().toLowerCase()
}

/** The group that stands for each role, as a settings section names it: `group_admin`, … */
export type GroupSettings = { readonly [Name in `group_${Role}`]: string }

/**
 * The highest role of somebody's groups, or undefined when the settings name none of them. `isSame` compares a group
 * with a named one. Source: the specification, "Authentication", 3.
 */
export function roleOfGroups(
  groups: readonly string[],
  settings: GroupSettings,
  isSame: (has: string, named: string) => boolean = isGroup,
): Role | undefined {
  return ORDER.find(
    role => settings[`group_${role}`] !== '' && groups.some(group => isSame(group, settings[`group_${role}`])),
  )
}

/** Whether the settings name any group at all. */
export function namesGroups(settings: GroupSettings): boolean {
  return ROLES.some(role => settings[`group_${role}`].trim() !== '')
}
