import { writeFile } from 'node:fs/promises'
import { parseAddress } from './address.ts'
import { openAppliance, openHome, type Answers } from './answers.ts'
import type { Channel } from './channels.ts'
import { endsWithTyped } from './fingerprint.ts'
import type { Parts } from './parts.ts'
import { Refusal } from './refusal.ts'

type OfConnections = Extract<Channel, `connections.${string}`>

/** Ends the session on the appliance, too, so that a copied token is worth nothing. @returns whether it was told */
async function endSession({ sessions, appliances }: Parts, id: string): Promise<boolean> {
  const token = await sessions.find(id)
  await sessions.forget(id)
  if (token === undefined) return true
  try {
    const answer = await appliances.request(id, {
      method: 'POST',
      path: '/api/v1/auth/logout',
      headers: { 'authorization': `Bearer ${token}`, 'content-length': 0 },
      silenceMs: 10_000,
    })
    answer.resume()
    // 401: it had ended already
    return answer.statusCode === 200 || answer.statusCode === 401
  } catch {
    return false
  }
}

/** Trusts the identity that a person compared. @throws Refusal where the comparison failed */
const trust: Answers<OfConnections>['connections.trust'] = async (
  { looks, connections, appliances, watch },
  { look, by, ...facts },
) => {
  const seen = looks.get(look)
  if (seen.compared === 'different')
    throw new Refusal(
      'fingerprint_differs',
      'The fingerprint in the pasted address is not that of the server that answers there. Somebody may sit between you and the appliance: do not go on, and tell whoever runs the network.',
    )
  if (by === 'system' && !seen.isVouchedFor)
    throw new Refusal(
      'not_vouched_for',
      'The certificates of this computer do not vouch for this server. Compare its fingerprint instead.',
    )
  const { id } = await connections.add({
    ...facts,
    origin: seen.address.origin,
    trust: by === 'system' ? { by: 'system' } : { by: 'pin', pin: seen.chain.pin },
  })
  watch.follow()
  return appliances.view(id)
}

/** Trusts another identity in place of the one that is trusted. */
const accept: Answers<OfConnections>['connections.accept'] = async (parts, { id, look, digits }) => {
  const { looks, connections, appliances, sessions, around, watch } = parts
  const { chain, address } = looks.get(look)
  const { origin } = connections.get(id)
  if (origin !== address.origin)
    throw new Refusal('look_is_gone', 'Another appliance was looked at. Look again, and compare once more.')
  if (!endsWithTyped(chain.pin.fingerprint, digits))
    throw new Refusal(
      'wrong_digits',
      'These are not the last 8 digits of the new fingerprint. Read them from the screen of the appliance; if they differ from those here, somebody else answers.',
    )
  // a session of the one that was here before is nothing to show to the new one
  await sessions.forget(id)
  await connections.change(id, {
    trust: { by: 'pin', pin: { ...chain.pin, hostNames: [...chain.pin.hostNames] } },
    trustedAt: around.clock.now().toISOString(),
  })
  appliances.renew(id)
  watch.wake()
  return appliances.view(id)
}

export const connectionAnswers: Answers<OfConnections> = {
  'connections.list': ({ appliances }) => appliances.views(),
  'connections.open': (parts, { id }) => {
    const { state } = parts.appliances.view(id)
    if (state === 'changed') openHome(parts, `#/changed?id=${id}`)
    else openAppliance(parts, id)
    return {}
  },
  'connections.home': parts => {
    openHome(parts)
    return {}
  },
  'connections.look': ({ looks, connections }, { address }) =>
    looks.look(address, origin => connections.list().find(one => one.origin === origin)?.name),
  'connections.trust': trust,
  'connections.change': async ({ connections, appliances, watch }, { id, address, place, ...facts }) => {
    const origin = address === undefined ? undefined : parseAddress(address).origin
    await connections.change(id, { ...facts, ...(origin === undefined ? {} : { origin }) })
    if (place !== undefined) await connections.move(id, place)
    if (origin !== undefined) {
      appliances.renew(id)
      watch.wake()
    } else appliances.tell()
    return appliances.view(id)
  },
  'connections.remove': async (parts, { id }) => {
    const { connections, appliances, uploads, watch } = parts
    connections.get(id)
    await endSession(parts, id)
    uploads.forget(id)
    await connections.remove(id)
    appliances.renew(id)
    watch.follow()
    return {}
  },
  'connections.changed': ({ looks, connections }, { id }) => looks.lookAgain(connections.get(id)),
  'connections.accept': accept,
  'connections.save_details': async ({ looks, connections, around, words }, { id }) => {
    const entry = connections.get(id)
    const view = await looks.lookAgain(entry)
    const path = await around.dialog.save({
      name: `${entry.name.replace(/[^\w.-]+/g, '-')}-identity.json`,
      title: words.now().save_details,
    })
    if (path === undefined) return { saved: false }
    const { certificates } = looks.get(view.now.look).chain
    await writeFile(path, `${JSON.stringify({ ...view, certificates }, null, 2)}\n`)
    return { saved: true }
  },
  'connections.sign_out_all': async parts => {
    const known = parts.connections.list()
    const told = await Promise.all(known.map(async ({ id, name }) => ({ name, ok: await endSession(parts, id) })))
    return { signed_out: known.length, not_told: told.filter(({ ok }) => !ok).map(({ name }) => name.slice(0, 120)) }
  },
}
