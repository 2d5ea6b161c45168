import type { ApiProblem } from '../../api.ts'

/** What the fields of a machine hold: text as it is typed. */
export interface Wish {
  hostname: string
  ip: string
  ssh_user: string
  ssh_port: string
  ssh_password: string
  label: string
}

/** Undefined for what is no port. */
export function portOf(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : 0
  return port >= 1 && port <= 65_535 ? port : undefined
}

/** The members that say how it is reached; empty fields are left out. */
export function sshWish({ ip, ssh_user: user, ssh_port: port, ssh_password: password }: Wish) {
  const number = portOf(port)
  return {
    ...(ip.trim() === '' ? {} : { ip: ip.trim() }),
    ...(user.trim() === '' ? {} : { ssh_user: user.trim() }),
    ...(number === undefined ? {} : { ssh_port: number }),
    ...(password === '' ? {} : { ssh_password: password }),
  }
}

/** What a refusal says of one field. A name that is taken belongs to the name. */
export function fieldError(refused: ApiProblem | undefined, field: string): string | undefined {
  if (refused === undefined) return undefined
  if (field === 'hostname' && refused.code === 'inventory_client_exists') return refused.message
  return refused.fields.find(one => one.field === field)?.message
}
