import { ApiProblem, call } from '../../api.ts'
import type { Changes } from '../../draft.svelte.ts'

/** One step of what a test did, as the stepper draws it. */
export interface TrialStep {
  readonly id: string
  readonly word: string
  readonly mark: 'passed' | 'warned' | 'failed' | 'waiting'
  readonly said: string
}
/** The result of a test. `copy` is text to copy. */
export interface Trial {
  readonly ok: boolean
  readonly steps: readonly TrialStep[]
  readonly copy?: { readonly label: string; readonly text: string }
}

/** A section with a test. `saved`: the test uses what is saved, so there must be nothing unsaved. */
export interface TrialKind {
  readonly section: string
  readonly title: string
  readonly say: string
  readonly verb: string
  readonly needsSaved: boolean
  readonly field?: { readonly label: string; readonly hint: string }
  /** @throws ApiProblem for what is no answer about the settings, such as a limit or the edition */
  run(draft: Changes, typed: string): Promise<Trial>
}

const passed = (id: string, word: string, said: string): TrialStep => ({ id, word, mark: 'passed', said })

/** The part of the draft in one section, by the section's own keys. A test applies it over the saved settings. */
function own(draft: Changes, section: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(draft)
      .filter(([path]) => path.startsWith(`${section}.`))
      .map(([path, value]) => [path.slice(section.length + 1), value]),
  )
}
/** The sentence of a refusal that is about the settings. @throws anything else */
function why(error: unknown, ...codes: string[]): string {
  if (error instanceof ApiProblem && codes.includes(error.code)) return error.message
  throw error
}

const LDAP = [
  ['reach', 'The server is reached'],
  ['secure', 'The connection'],
  ['bind', 'The service account'],
  ['person', 'A person'],
] as const
const ldap: TrialKind = {
  section: 'ldap',
  title: 'Try the directory',
  needsSaved: false,
  verb: 'Test',
  say: 'Connects and signs in as the service account, with what is typed above, saved or not. Nothing is saved.',
  field: { label: 'Look somebody up', hint: 'A user name of the directory; no password is asked for. Can stay empty.' },
  async run(draft, typed) {
    try {
      const { server, connection, bound_as, person } = await call('POST /settings/test-ldap', {
        body: { ...own(draft, 'ldap'), ...(typed === '' ? {} : { test_username: typed }) },
      })
      const found =
        person === undefined
          ? ({ id: 'person', word: LDAP[3][1], mark: 'waiting', said: 'Nobody was looked up.' } as const)
          : passed(
              'person',
              `${person.full_name || person.username} is found`,
              `${person.dn}. ${person.email ? `${person.email}. ` : ''}Would be ${person.role} here. ${person.groups.length === 0 ? 'In no group.' : `Groups: ${person.groups.join('; ')}`}`,
            )
      return {
        ok: true,
        steps: [
          passed('reach', LDAP[0][1], server),
          passed('secure', LDAP[1][1], connection),
          passed('bind', LDAP[2][1], bound_as),
          found,
        ],
      }
    } catch (error) {
      const said = why(error, 'ldap_failed')
      // the server names the step in the facts of its refusal
      const step = error instanceof ApiProblem ? error.facts.step : undefined
      const at = Math.max(
        0,
        LDAP.findIndex(([id]) => id === step),
      )
      return {
        ok: false,
        steps: LDAP.map(([id, word], n) => ({
          id,
          word,
          mark: n < at ? 'passed' : n === at ? 'failed' : 'waiting',
          said: n === at ? said : '',
        })),
      }
    }
  },
}

const oidc: TrialKind = {
  section: 'oidc',
  title: 'Try the provider',
  needsSaved: false,
  verb: 'Test',
  say: 'Asks the provider about itself, with what is typed above, saved or not. Nothing is saved, and no secret is sent.',
  async run(draft) {
    try {
      const reply = await call('POST /settings/test-oidc', { body: own(draft, 'oidc') })
      return {
        ok: true,
        copy: { label: 'the redirect address', text: reply.redirect_uri },
        steps: [
          passed('issuer', 'The provider answers', reply.issuer),
          passed('endpoints', 'It names where people sign in', reply.authorization_endpoint),
          passed('token', 'It names where the code is exchanged', reply.token_endpoint),
          reply.pkce
            ? passed('pkce', 'PKCE', 'The provider offers S256.')
            : {
                id: 'pkce',
                word: 'PKCE',
                mark: 'warned',
                said: 'The provider does not say that it knows S256. It is sent all the same.',
              },
          passed('scopes', 'Scopes it knows', reply.scopes_supported.join(' ') || 'It does not say.'),
        ],
      }
    } catch (error) {
      return {
        ok: false,
        steps: [{ id: 'issuer', word: 'The provider answers', mark: 'failed', said: why(error, 'oidc_failed') }],
      }
    }
  },
}

const mail: TrialKind = {
  section: 'email',
  title: 'Send a test mail',
  needsSaved: true,
  verb: 'Send',
  say: 'Goes through the mail server with the saved settings.',
  field: { label: 'To', hint: 'An address; empty means the receivers above.' },
  async run(_, typed) {
    try {
      const { server, answer, to } = await call('POST /settings/test-email', {
        body: typed === '' ? {} : { to: typed },
      })
      return {
        ok: true,
        steps: [
          passed('server', 'The mail server is reached', server),
          passed('taken', 'It took the mail', answer),
          passed('to', 'On its way to', to.join(', ')),
        ],
      }
    } catch (error) {
      return {
        ok: false,
        steps: [
          {
            id: 'server',
            word: 'The mail was not sent',
            mark: 'failed',
            said: why(error, 'mail_failed', 'mail_not_configured'),
          },
        ],
      }
    }
  },
}

const webhook: TrialKind = {
  section: 'notifications',
  title: 'Send a test message',
  needsSaved: true,
  verb: 'Send',
  say: 'Posts a message to the saved address, also while events are switched off.',
  async run() {
    try {
      const { host, status, ms } = await call('POST /settings/test-webhook')
      return {
        ok: true,
        steps: [
          passed('host', 'The receiver is reached', host),
          passed('taken', 'It took the message', `Answered ${status} in ${ms} ms.`),
        ],
      }
    } catch (error) {
      return {
        ok: false,
        steps: [
          {
            id: 'host',
            word: 'The message did not arrive',
            mark: 'failed',
            said: why(error, 'webhook_failed', 'webhook_not_configured', 'outbound_refused', 'outbound_failed'),
          },
        ],
      }
    }
  },
}

/** The sections that can be tried. */
export const TRIALS: readonly TrialKind[] = [ldap, oidc, mail, webhook]
