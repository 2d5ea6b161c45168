import type { Answered, AskedWith, Verb } from '../../../server/machine/protocol.ts'
import type { Ports } from '../ports.ts'
import { setWindow } from '../update/window.ts'
import { orderCertificate } from './acme.ts'
import { ownCertificate, putCertificate } from './certificates.ts'
import { keepNetwork, setNetwork } from './network.ts'
import { powerOff, powerRestart } from './power.ts'
import { readMachine } from './read.ts'
import { setRemoteLog } from './remote-log.ts'
import { restartService } from './services.ts'
import { setTime } from './time.ts'
import { cancelUpdate, goBackByHand, installUpdate, lookAtUpdate } from './update.ts'

/** Says what is being done; whoever asked reads it at once. */
export type Say = (step: string) => void
export type Doing<V extends Verb> = (ports: Ports, asked: AskedWith<V>, say: Say) => Promise<Answered<V>>

/** What does each verb. */
export const DOING: { readonly [V in Verb]: Doing<V> } = {
  'machine.read': readMachine,
  'network.set': setNetwork,
  'network.keep': keepNetwork,
  'time.set': setTime,
  'service.restart': restartService,
  'power.restart': powerRestart,
  'power.off': powerOff,
  'update.look': lookAtUpdate,
  'update.install': installUpdate,
  'update.cancel': cancelUpdate,
  'update.back': goBackByHand,
  'window.set': setWindow,
  'certificate.put': putCertificate,
  'certificate.own': ownCertificate,
  'certificate.acme': orderCertificate,
  'remote_log.set': setRemoteLog,
}
/** Of these, many run at the same time; of all others, one. */
export const READING: readonly Verb[] = ['machine.read', 'update.look']
