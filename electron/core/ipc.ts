import { Value } from '@sinclair/typebox/value'
import { answers } from './answers.ts'
import { ADD_FILES_ASK, BRIDGE, type Envelope } from './bridge.ts'
import { ADD_FILES, CHANNELS, type Channel } from './channels.ts'
import { connectionAnswers } from './connection-answers.ts'
import { placeOf } from './pages.ts'
import type { Parts } from './parts.ts'
import { Refusal } from './refusal.ts'

type Handler = (parts: Parts, ask: unknown, appliance: string) => unknown
const HANDLERS: Readonly<Record<Channel, unknown>> = { ...answers, ...connectionAnswers }

const no = (code: string, message: string): Envelope => ({ ok: false, code, message })
const OWN = 'The program met an error of its own. Start it again; if it comes back, tell an admin.'

/** Puts files in the queue of the appliance whose page they were dropped on. */
async function addFiles(parts: Parts, ask: unknown, appliance: string): Promise<Envelope> {
  if (!Value.Check(ADD_FILES_ASK, ask)) return no('bad_message', OWN)
  await parts.uploads.add(appliance, ask.files)
  return { ok: true, value: {} }
}

/**
 * Answers a message of a page. Trusted are the sender's address and nothing in the message: the channel must be of the
 * list, the page one that may use it, the message of its shape, and the answer of its own.
 * @param sender  the address of the frame that sent it
 */
export async function answerMessage(parts: Parts, channel: string, ask: unknown, sender: string): Promise<Envelope> {
  const { log } = parts.around
  const place = placeOf(sender)
  if (place === undefined) return no('foreign_page', 'Only pages of this program are answered.')
  const appliance = place.at === 'appliance' ? place.id : ''
  try {
    if (appliance !== '') parts.connections.get(appliance)
    if (channel === ADD_FILES && appliance !== '') return await addFiles(parts, ask, appliance)
    const name = CHANNELS.find(one => one === channel)
    if (name === undefined) return no('unknown_channel', OWN)
    const row = BRIDGE[name]
    if (row.from !== 'any' && row.from !== place.at) return no('not_here', 'This page may not ask for that.')
    if (!Value.Check(row.ask, ask)) {
      log.line('warn', `a message on ${name} has another shape: ${Value.Errors(row.ask, ask).First()?.message ?? ''}`)
      return no('bad_message', OWN)
    }
    const value = await (HANDLERS[name] as Handler)(parts, ask, appliance)
    if (!Value.Check(row.reply, value)) {
      const wrong = Value.Errors(row.reply, value).First()
      log.line('warn', `the answer on ${name} has another shape at ${wrong?.path ?? ''}: ${wrong?.message ?? ''}`)
      return no('bad_answer', OWN)
    }
    return { ok: true, value }
  } catch (error) {
    if (error instanceof Refusal) return no(error.code, error.message)
    log.line('warn', `${channel} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    return no('desktop', OWN)
  }
}
