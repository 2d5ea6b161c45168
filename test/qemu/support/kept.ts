import { expect } from 'vitest'
import { buildDeb } from '../../support/packages.ts'
import { readServedTree, type ServedTree } from '../../support/tree.ts'
import { signIn, type Session } from './admin.ts'
import type { Machine } from './machine.ts'
import type { CallTo } from './wire.ts'

const CODENAME = 'bookworm'

/** Uploads version 1.0 of a package, which is published when this returns. */
export async function publish({ must }: Session, name: string): Promise<void> {
  const form = new FormData()
  form.set('distribution', CODENAME)
  form.set('file', new File([Uint8Array.from(await buildDeb({ name, version: '1.0' }))], `${name}_1.0_amd64.deb`))
  const sent = new Response(form)
  const headers = { 'Content-Type': sent.headers.get('content-type') ?? '' }
  const taken = await must(201, 'POST', '/upload/', { bytes: Buffer.from(await sent.arrayBuffer()), headers })
  expect(taken.body).toMatchObject({ status: 'published' })
}

/** The signed tree as apt gets it, each file held against its digest. */
const readTree = (call: CallTo): Promise<ServedTree> =>
  readServedTree('', CODENAME, {
    async ask(path, { method }) {
      const { status, bytes } = await call(method, path)
      return new Response(Uint8Array.from(bytes), { status, headers: { 'content-length': String(bytes.length) } })
    },
  })

/**
 * Waits until the tree has as many packages as were published: a publication that was owed when the power went comes
 * after the start.
 * @returns what is lost or damaged of tree, pool, database and audit log; empty when all is whole
 */
export async function whatIsWrong(machine: Machine, call: CallTo, published: readonly string[]): Promise<string[]> {
  const { must } = await signIn(call)
  const { items } = (await must(200, 'GET', '/packages/')).body as { items: { name: string; sha256: string }[] }
  const rows = items.map(({ name, sha256 }) => `${name} ${sha256}`).sort()
  const { problems, packages } = await machine.until('tree of all packages', async () => {
    const tree = await readTree(call)
    return tree.packages.length >= published.length && tree
  })
  const served = packages.map(({ Package = '', SHA256 = '' }) => `${Package} ${SHA256}`).sort()
  const chain = (await must(200, 'GET', '/artifacts/audit/integrity')).body
  const lost = published.filter(name => !packages.some(({ Package }) => Package === name))
  return [
    ...problems,
    ...lost.map(name => `${name} was published and is lost`),
    ...(String(rows) === String(served) ? [] : [`the database has ${String(rows)}, the tree ${String(served)}`]),
    ...(chain.ok === true ? [] : [`the audit log is not whole: ${JSON.stringify(chain)}`]),
  ]
}
