import { mount } from 'svelte';
import App from './App.svelte';
import './tokens.css';
import './base.css';
import './prose.css';

const target = document.getElementById('app');
if (!target) throw new Error('index.html has no element with the id app');
mount(App, { target });
