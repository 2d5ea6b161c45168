import '@fontsource-variable/inter/opsz.css'
import '@fontsource-variable/jetbrains-mono/wght.css'
import './styles/base.css'
import './styles/tokens.css'
import './styles/parts.css'
import './styles/shell.css'
import './styles/screens.css'
import './styles/console.css'
import './styles/identity.css'
import './styles/security.css'
import { mount } from 'svelte'
import App from './App.svelte'

// the styles name the body's children as the window's two columns, so the body itself is the target
mount(App, { target: document.body })
